import { NonRetryableError, TaskError } from '@baton/execution';
import { fakeClock } from '../testing/fake-clock.js';
import { FullBudgetRetries } from './old/full-budget-retries.js';
import { JournalWorld } from './testing/journal-world.js';

interface Retrying {
  start(): unknown;
  advance(ms: number): Promise<void>;
  status(): Promise<string>;
}

const MAX_ATTEMPTS = 5;

/** W7: what no retry can repair ends the step at its first attempt, whatever its policy allows. */
async function permanentErrorsEndAtOnce(make: (step: () => unknown) => Retrying): Promise<void> {
  let calls = 0;
  const run = make(() => {
    calls += 1;
    throw new NonRetryableError('CARD_STOLEN');
  });
  await run.start();
  await run.advance(60_000);
  expect(await run.status()).toBe('failed');
  expect(calls).toBe(1);
}

function sagaOf(run: () => unknown): JournalWorld {
  const retry = { maxAttempts: MAX_ATTEMPTS, baseInterval: 100 };
  return new JournalWorld({ id: 'order', steps: [{ name: 'charge', run, retry }] });
}

describe('W7: an error that no retry can repair', () => {
  it('W7: ends the step at once', async () => {
    await permanentErrorsEndAtOnce(sagaOf);
  });

  it('W7: while every other error has the whole budget', async () => {
    let calls = 0;
    const world = sagaOf(() => {
      calls += 1;
      throw new TaskError('CARRIER_DOWN');
    });
    await world.start();
    await world.advance(60_000);
    expect(calls).toBe(MAX_ATTEMPTS);
    expect(await world.status()).toBe('failed');
  });

  it('W7: the old behaviour fails this check', async () => {
    const old = (step: () => unknown): Retrying => {
      const clock = fakeClock();
      const run = new FullBudgetRetries(clock, step, MAX_ATTEMPTS);
      return { start: () => run.start(), advance: clock.advance, status: () => Promise.resolve(run.status) };
    };
    await expect(permanentErrorsEndAtOnce(old)).rejects.toThrow();
  });
});
