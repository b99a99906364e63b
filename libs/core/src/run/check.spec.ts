import { chain, definition, task, wait } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import { check } from './check.js';
import type { RunState, TaskState } from './state.js';

/** A state that no decision makes: one row of a sound state, changed by hand. */
function damage(
  run: FakeRun,
  nodeId: string,
  change: Partial<TaskState>,
  kind: TaskState['kind'] = 'forward',
): RunState {
  const row = run.task(nodeId, kind);
  return { ...run.state, tasks: new Map(run.state.tasks).set(row.taskId, { ...row, ...change }) };
}

function found(run: FakeRun, state: RunState): string[] {
  return check(state, run.dag).map((violation) => violation.invariant);
}

const dag = definition(chain(task('a', { compensate: true }), task('b', { compensate: true }), task('c')));

function running(): FakeRun {
  const run = new FakeRun(dag).start();
  run.complete('a');
  return run;
}

function compensating(): FakeRun {
  const run = running();
  run.complete('b');
  run.fail('c');
  return run;
}

describe('check', () => {
  it('finds nothing on a sound state, before the start too', () => {
    expect(check(new FakeRun(dag).state, dag)).toEqual([]);
    expect(check(running().state, dag)).toEqual([]);
    expect(check(compensating().state, dag)).toEqual([]);
  });

  it('I6, B46: a run that nothing will wake', () => {
    const run = running();
    expect(found(run, damage(run, 'b', { status: 'HELD' }))).toEqual(['I6']);
    const waiting = new FakeRun(definition([wait('w')])).start();
    expect(found(waiting, waiting.state)).toEqual([]); // an open wait is enough
  });

  it('I6: a node that may start and has not', () => {
    const run = new FakeRun(definition([task('a'), task('x')])).start();
    const tasks = new Map([...run.state.tasks].filter(([, row]) => row.nodeId !== 'x'));
    expect(check({ ...run.state, tasks }, run.dag)).toMatchObject([{ invariant: 'I6', nodeId: 'x' }]);
  });

  it('I4: an ended run with an open task', () => {
    const run = running();
    expect(found(run, { ...run.state, status: 'FAILED' })).toEqual(['I4']);
  });

  it('I5: an open attempt without a number, or with a report', () => {
    const run = running();
    expect(found(run, damage(run, 'b', { attempt: 0 }))).toEqual(['I5']);
    expect(found(run, damage(run, 'b', { reportHash: 'h' }))).toEqual(['I5']);
  });

  it('R15, R11: generations beyond the epoch, twice, or with attempts that do not rise', () => {
    const run = running();
    expect(found(run, damage(run, 'b', { generation: 2 }))).toEqual(['R15']);
    const twin = { ...run.task('b'), taskId: 'twin', attempt: 2 };
    expect(found(run, { ...run.state, tasks: new Map(run.state.tasks).set('twin', twin) })).toEqual(['R15']);
    run.fail('b');
    run.complete('a', '{}', { kind: 'compensate' });
    const retried = new FakeRun(definition(chain(task('a'), task('b')))).start();
    retried.fail('a');
    retried.retry();
    expect(found(retried, damage(retried, 'a', { attempt: 1 }))).toEqual(['R11']);
  });

  it('R18: a step that is cut off in a run that goes forward, or goes on in one that is undone', () => {
    const run = running();
    expect(found(run, damage(run, 'b', { cutOff: true }))).toEqual(['R18']);
    const undoing = compensating();
    expect(found(undoing, damage(undoing, 'c', { status: 'SCHEDULED', reportHash: null }))).toEqual(['R18']);
  });

  it('R18: an undo that goes on while its step does', () => {
    const undoing = compensating();
    expect(found(undoing, damage(undoing, 'b', { status: 'SCHEDULED', cutOff: true, reportHash: null }))).toEqual([
      'R18',
    ]);
  });

  it('I10: an undo that comes before one below it, has no step, or runs while the run goes forward', () => {
    const undoing = compensating();
    expect(found(undoing, damage(undoing, 'a', { status: 'SCHEDULED', attempt: 1 }, 'compensate'))).toEqual(['I10']);
    const { taskId } = undoing.task('b');
    const orphaned = new Map([...undoing.state.tasks].filter(([id]) => id !== taskId));
    expect(found(undoing, { ...undoing.state, tasks: orphaned })).toEqual(['I10']);
    expect(found(undoing, { ...undoing.state, status: 'RUNNING', cause: null })).toEqual(['I10']);
  });

  it('I10: two undos at a time where they go one by one', () => {
    const nodes = [task('a', { compensate: true }), task('b', { compensate: true }), task('c', { after: ['a', 'b'] })];
    const run = new FakeRun(definition(nodes, { compensation: 'sequential' })).start();
    run.complete('a');
    run.complete('b');
    run.fail('c');
    expect(found(run, damage(run, 'a', { status: 'SCHEDULED', attempt: 1 }, 'compensate'))).toEqual(['I10']);
  });

  it('R19: a cause or an undo result that does not fit the status', () => {
    const run = running();
    expect(found(run, { ...run.state, cause: 'cancel' })).toEqual(['R19']);
    expect(found(run, { ...run.state, undo: 'FAILED' })).toEqual(['R19']);
    const undoing = compensating();
    expect(found(undoing, { ...undoing.state, cause: null })).toEqual(['R19']);
  });
});
