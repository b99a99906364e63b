import { metric, type Metric } from './report.js';
import { median, quantile } from './stats.js';

/** What was measured of one side. */
export interface SideSamples {
  /** Runs a second with many in flight, a value a round. */
  readonly rates: readonly number[];
  /** Milliseconds from start to result, one at a time. */
  readonly singles: readonly number[];
  /** Write transactions of one run. */
  readonly commitsPerRun: number;
}

/**
 * The ratio of each round, then their median: a moment in which the machine was slow hits both sides of a round, not
 * the ratio.
 */
export function ratioOfRounds(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
}

/** By the name of the side; both ratios are of `saga` to `dbos`. */
export function libraryMetrics(sides: ReadonlyMap<string, SideSamples>): readonly Metric[] {
  const saga = sides.get('saga') ?? nothing;
  const dbos = sides.get('dbos') ?? nothing;
  return [
    metric('runs_per_second_vs_dbos_ratio', ratioOfRounds(saga.rates, dbos.rates), 'x', { atLeast: 8 }),
    metric('p50_vs_dbos_ratio', median(saga.singles) / median(dbos.singles), 'x', { atMost: 0.4 }),
    ...[...sides].flatMap(([name, side]) => sideMetrics(name, side)),
  ];
}

const nothing: SideSamples = { rates: [], singles: [], commitsPerRun: Number.NaN };

function sideMetrics(name: string, side: SideSamples): readonly Metric[] {
  return [
    metric(`${name}_runs_per_second`, median(side.rates), '1/s'),
    metric(`${name}_p50_ms`, median(side.singles), 'ms'),
    metric(`${name}_p99_ms`, quantile(side.singles, 0.99), 'ms'),
    metric(`${name}_commits_per_run`, side.commitsPerRun, ''),
  ];
}

/** The heap after a number of runs. */
export interface HeapSample {
  readonly runs: number;
  readonly bytes: number;
}

/** Bytes that stay for each run: the slope of the least squares through the samples. */
export function bytesPerRun(samples: readonly HeapSample[]): number {
  const count = samples.length;
  const meanRuns = samples.reduce((sum, { runs }) => sum + runs, 0) / count;
  const meanBytes = samples.reduce((sum, { bytes }) => sum + bytes, 0) / count;
  let covariance = 0;
  let variance = 0;
  for (const { runs, bytes } of samples) {
    covariance += (runs - meanRuns) * (bytes - meanBytes);
    variance += (runs - meanRuns) ** 2;
  }
  return covariance / variance;
}

/** Less than this for each run is noise of the collector, not a leak: a kept run would be some hundred bytes at least. */
const FLAT_BYTES_PER_RUN = 20;

export function heapMetrics(samples: readonly HeapSample[]): readonly Metric[] {
  const mebibytes = (sample: HeapSample | undefined): number => (sample?.bytes ?? Number.NaN) / 2 ** 20;
  return [
    metric('heap_bytes_per_run', bytesPerRun(samples), 'B', { atMost: FLAT_BYTES_PER_RUN }),
    metric('heap_first_mib', mebibytes(samples[0]), 'MiB'),
    metric('heap_last_mib', mebibytes(samples.at(-1)), 'MiB'),
    metric('heap_runs', samples.at(-1)?.runs ?? 0, ''),
  ];
}
