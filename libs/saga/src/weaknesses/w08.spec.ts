import { fakeClock } from '../testing/fake-clock.js';
import { RerunOnCommitError } from './old/rerun-on-commit-error.js';
import { JournalWorld } from './testing/journal-world.js';

const LEASE_MS = 30_000;

interface Poisoned {
  start(): unknown;
  advance(ms: number): Promise<void>;
  status(): Promise<string>;
}

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;

const POISON: readonly (readonly [string, () => unknown])[] = [
  ['a BigInt', () => ({ n: 1n })],
  ['a cycle', () => cycle],
  ['5 MB', () => 'x'.repeat(5_000_000)],
];

/** W8: an output that cannot be kept ends the saga after one call of the step, and never loops. */
async function poisonRunsOnce(make: (step: () => unknown) => Poisoned, poison: () => unknown): Promise<void> {
  let calls = 0;
  const run = make(() => {
    calls += 1;
    return poison();
  });
  await run.start();
  await run.advance(LEASE_MS * 5);
  expect(calls).toBe(1);
  expect(await run.status()).not.toBe('running');
}

function sagaOf(run: () => unknown): JournalWorld {
  return new JournalWorld({
    id: 'order',
    steps: [{ name: 'charge', run, compensate: () => null, retry: { maxAttempts: 10, baseInterval: 100 } }],
  });
}

describe('W8: an output that cannot be kept', () => {
  it.each(POISON)('W8: with %s ends the step, not retried', async (_what, poison) => {
    await poisonRunsOnce(sagaOf, poison);
  });

  it('W8: the step has run, so its own undo runs', async () => {
    const world = sagaOf(() => 1n);
    await world.start();
    expect(await world.status()).toBe('compensated');
    expect(await world.journal()).toContain('step_compensated charge');
  });

  it.each(POISON)('W8: the old behaviour fails this check (%s)', async (_what, poison) => {
    const old = (step: () => unknown): Poisoned => {
      const clock = fakeClock();
      const run = new RerunOnCommitError(clock, step, LEASE_MS);
      return { start: () => run.start(), advance: clock.advance, status: () => Promise.resolve(run.status) };
    };
    await expect(poisonRunsOnce(old, poison)).rejects.toThrow();
  });
});
