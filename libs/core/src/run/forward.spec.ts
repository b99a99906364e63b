import { chain, definition, outputOf, task, template, wait, wholeInput } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

describe('the forward phase', () => {
  it('runs a sequence: each node starts in the decision that ends the one before it', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b'), task('c')))).start();
    expect(run.status('b')).toBe('ABSENT');
    run.complete('a');
    expect(run.status('b')).toBe('SCHEDULED');
    run.complete('b');
    run.complete('c');
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.journalKinds()).toEqual([
      'run.started',
      'task.scheduled',
      'node.succeeded',
      'task.scheduled',
      'node.succeeded',
      'task.scheduled',
      'node.succeeded',
      'run.succeeded',
    ]);
  });
});
