import { NonRetryableError } from '@baton/execution';
import { fakeClock, settle } from '../testing/fake-clock.js';
import { OneTryUndo } from './old/one-try-undo.js';
import { JournalWorld } from './testing/journal-world.js';

type Undo = (signal: AbortSignal) => unknown;

/** One run that has one step to undo, in a time that the test moves. */
interface Undoing {
  start(): unknown;
  advance(ms: number): Promise<void>;
  now(): number;
  status(): Promise<string>;
}

/** W5: an undo that fails is tried again after a growing pause; one that hangs is given up after its timeout. */
async function undosRetryTimeOutAndBackOff(make: (undo: Undo) => Undoing): Promise<void> {
  const begun: number[] = [];
  const run = make(async () => {
    begun.push(run.now());
    if (begun.length <= 2) throw new Error('the bank is away');
    if (begun.length === 3) await new Promise(() => undefined);
  });
  await run.start();
  await run.advance(60_000);
  expect(begun).toHaveLength(4);
  const [first = 0, second = 0, third = 0, fourth = 0] = begun;
  expect(second - first).toBeGreaterThanOrEqual(800);
  expect(third - second).toBeGreaterThanOrEqual(1_600);
  // Its timeout of 5 s, and then a pause.
  expect(fourth - third).toBeGreaterThanOrEqual(5_000 + 3_200);
  expect(await run.status()).toBe('compensated');
}

function sagaWithUndo(undo: Undo): Undoing {
  const world = new JournalWorld({
    id: 'order',
    steps: [
      {
        name: 'reserve',
        run: () => 'reserved',
        compensate: ({ signal }) => undo(signal),
        compensateTimeout: 5_000,
      },
      {
        name: 'charge',
        run: () => {
          throw new NonRetryableError('DECLINED');
        },
      },
    ],
  });
  return {
    start: () => world.start(),
    advance: (ms) => world.advance(ms),
    now: () => world.clock.now(),
    status: () => world.status(),
  };
}

describe('W5: an undo that fails or hangs', () => {
  it('W5: is retried, bounded by its timeout, with growing pauses', async () => {
    await undosRetryTimeOutAndBackOff(sagaWithUndo);
  });

  it('W5: the old behaviour fails this check', async () => {
    const old = (undo: Undo): Undoing => {
      const clock = fakeClock();
      const run = new OneTryUndo(clock, undo);
      const start = async () => {
        run.start();
        await settle();
      };
      return { start, advance: clock.advance, now: clock.now, status: () => Promise.resolve(run.status) };
    };
    await expect(undosRetryTimeOutAndBackOff(old)).rejects.toThrow();
  });
});
