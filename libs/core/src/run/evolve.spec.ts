import { definition, task } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import type { Action } from './actions.js';
import { evolve } from './evolve.js';
import { PUBLISHED_JOURNAL_KINDS } from './journal-kinds.js';
import { newRun } from './new-run.js';

const run = { runId: 'r', namespace: 'default', definitionId: 'order', definitionVersion: 1 } as const;

describe('evolve', () => {
  it('leaves the state that it is given as it is', () => {
    const started = new FakeRun(definition([task('a')])).start();
    const before = started.state;
    const [row] = before.tasks.values();
    evolve(before, [{ type: 'CutOffTask', taskId: row?.taskId ?? '', nodeId: 'a', graceMs: 1 }]);
    expect(before.tasks.get(row?.taskId ?? '')?.cutOff).toBe(false);
  });

  it('counts the outbox: dispatches of route kafka, and published journal rows of any route', () => {
    const actions = (new FakeRun(definition([task('a')])).start().last as { actions: readonly Action[] }).actions;
    expect(evolve(newRun({ ...run, route: 'kafka' }), actions)).toMatchObject({ journalSeq: 2, outboxSeq: 2 });
    expect(evolve(newRun({ ...run, route: 'local' }), actions)).toMatchObject({ journalSeq: 2, outboxSeq: 1 });
    expect(PUBLISHED_JOURNAL_KINDS.has('task.scheduled')).toBe(false);
  });

  it('throws on an action for a row that is not there: it is our bug, not a case', () => {
    expect(() =>
      evolve(newRun({ ...run, route: 'kafka' }), [{ type: 'ReplanUndo', taskId: 'x', nodeId: 'a', attempt: 1 }]),
    ).toThrow('a task that the run does not have: x');
  });

  it('throws on an action that it does not know', () => {
    const unknown = { type: 'Teleport' } as unknown as Action;
    expect(() => evolve(newRun({ ...run, route: 'kafka' }), [unknown])).toThrow('unreachable');
  });
});
