import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { HeapSample } from './library-figures.js';
import type { LibrarySide } from './library-side.js';
import { drive } from './stats.js';

const SAMPLES = 10;
/** Code is compiled and caches fill before the first sample. */
const WARM_UP_SHARE = 0.1;

/** The heap after each tenth of so many runs, collected before it is looked at. `report` hears each sample at once. */
export async function heapSamples(
  side: LibrarySide,
  { runs, inFlight }: { readonly runs: number; readonly inFlight: number },
  report: (sample: HeapSample) => void,
): Promise<readonly HeapSample[]> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let n = 0;
  const some = (count: number): Promise<number> =>
    drive(
      Array.from({ length: count }, () => (n += 1)),
      inFlight,
      (run) => side.runOnce(run),
    );
  await some(Math.round(runs * WARM_UP_SHARE));
  const samples: HeapSample[] = [];
  for (let index = 0; index <= SAMPLES; index += 1) {
    if (index > 0) await some(Math.round(runs / SAMPLES));
    collect();
    const sample = { runs: Math.round((runs / SAMPLES) * index), bytes: process.memoryUsage().heapUsed };
    samples.push(sample);
    report(sample);
  }
  return samples;
}
