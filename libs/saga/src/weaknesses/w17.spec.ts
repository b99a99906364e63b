import { OldReplay } from './old/journals.js';
import { completed, journalOf, step } from './testing/journal-of.js';

const STEPS = 40;

/** W17: what a step reads does not grow with what came before it. */
function isBounded(reads: readonly number[]): void {
  expect(reads).toHaveLength(STEPS);
  expect(Math.max(...reads.slice(STEPS / 2))).toBeLessThanOrEqual(Math.max(...reads.slice(0, STEPS / 2)));
}

describe('W17: reads that grow with the history', () => {
  it('W17: the next step reads nothing of the history, however long it is, and the last one ends the run', async () => {
    const steps = Array.from({ length: STEPS }, (_, index) => ({ name: `s${index}`, run: () => null }));
    const { store, begin, report, status } = await journalOf({ id: 'long', steps });
    const readsOf = () =>
      ['history', 'readRuns', 'readNeeds'].reduce((sum, name) => sum + (store.runs.statements.get(name) ?? 0), 0);
    const first = await begin();
    const reads: number[] = [];
    for (let next = first; ;) {
      const before = readsOf();
      const following = await report(next, completed);
      reads.push(readsOf() - before);
      if (following === null) break;
      next = step(following);
    }
    isBounded(reads);
    expect(store.runs.statements.get('history') ?? 0).toBe(0);
    // The last result and the end are one commit: none is ever there without the other.
    expect(await status(first.runId)).toBe('succeeded');
  });

  it('W17: the old behaviour fails this check', () => {
    const old = new OldReplay();
    for (let count = 0; count < STEPS; count += 1) old.runStep();
    expect(() => isBounded(old.reads)).toThrow();
  });
});
