import { OldSaga, type OldEntry } from './old/journals.js';
import { completed, failedWith, journalOf, LEASE_MS, step, undone } from './testing/journal-of.js';

/** W14: who reads the log knows which step failed and why, what became of each try, and what was under way. */
function tellsEverything(log: readonly OldEntry[]): void {
  const of = (pattern: RegExp) => log.filter(({ kind }) => pattern.test(kind));
  expect(of(/^step_failed$/)).toMatchObject([{ step: 'b', code: 'SECOND' }]);
  expect(of(/retry/)).toMatchObject([{ step: 'b', attempt: 1, code: 'FIRST' }]);
  const begun = of(/scheduled|redispatched|started$/).filter(({ step: name }) => name === 'b');
  expect(begun.length).toBeGreaterThanOrEqual(1);
  expect(of(/^step_compensated$/)).toMatchObject([{ step: 'a' }]);
}

describe('W14: a journal with holes', () => {
  it('W14: the journal holds every attempt, also the failed ones before an undo', async () => {
    const run = () => null;
    const world = await journalOf({
      id: 'told',
      retry: { maxAttempts: 2, baseInterval: 1_000 },
      steps: [
        { name: 'a', run, compensate: run },
        { name: 'b', run },
      ],
    });
    const a = await world.begin();
    const first = step(await world.report(a, completed));
    await world.report(first, failedWith('FIRST', true));
    await world.passes(2_000);
    const [second] = await world.journal.claimPending({ limit: 1, leaseMs: LEASE_MS });
    const undo = step(await world.report(step(second ?? null), failedWith('SECOND', true)));
    await world.report(undo, undone);
    tellsEverything(await world.journal.load(a.runId));
  });

  it('W14: the old behaviour fails this check', () => {
    const old = new OldSaga();
    old.run([
      { name: 'a', tries: ['ok'] },
      { name: 'b', tries: ['FIRST', 'SECOND'] },
    ]);
    expect(() => tellsEverything(old.log)).toThrow();
    expect(old.log.map(({ kind }) => kind)).toEqual([
      ...['step_completed', 'compensation_started', 'step_compensated', 'saga_compensated'],
    ]);
  });
});
