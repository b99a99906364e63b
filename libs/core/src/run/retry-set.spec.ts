import { chain, definition, task, wait } from '../testing/definitions.js';
import type { DefinitionOptions } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

/** Nodes of which the new epoch has a row of its own, or will have one: their old row no longer counts. */
function resetBy(run: FakeRun): string[] {
  const reopened = run.applied.filter((action) => action.type === 'ReopenRun').at(-1);
  return reopened === undefined ? [] : [...reopened.resetNodes];
}

describe('what a retry resets (R16)', () => {
  /** Beside each other: ok → below, late, cut and its way on, failing. */
  const nodes = [
    ...chain(task('ok'), task('below')),
    task('late', { retry: { maxAttempts: 1 }, timeouts: { startToCloseMs: 10_000 } }),
    ...chain(task('cut'), task('after-cut')),
    wait('go'),
    task('last', { after: ['below', 'late'] }),
  ];

  function timedOut(options: DefinitionOptions = {}): FakeRun {
    const run = new FakeRun(definition(nodes, options)).start();
    run.complete('ok');
    run.complete('below');
    run.lease('late').wakeAfter(10_000, 'late');
    expect(['late', 'cut', 'go'].map((node) => run.status(node))).toEqual(['TIMED_OUT', 'CANCELLED', 'CANCELLED']);
    return run;
  }

  it('by default: every TIMED_OUT and CANCELLED node and all below them; SUCCEEDED siblings stay', () => {
    const run = timedOut();
    run.retry();
    expect(resetBy(run).sort()).toEqual(['after-cut', 'cut', 'go', 'last', 'late']);
    expect(['late', 'cut', 'go'].map((node) => run.task(node).generation)).toEqual([2, 2, 2]);
    expect(['ok', 'below'].map((node) => run.task(node).generation)).toEqual([1, 1]);
  });

  it('from a node: it and all below it, and what ended badly all the same', () => {
    const run = timedOut();
    run.retry({ fromNodeId: 'below' });
    expect(resetBy(run).sort()).toEqual(['after-cut', 'below', 'cut', 'go', 'last', 'late']);
    expect(run.task('ok').generation).toBe(1);
    expect(run.task('below')).toMatchObject({ generation: 2, status: 'SCHEDULED' });
  });

  it('resets SKIPPED nodes whose ways in are all reset, and they may be taken then', () => {
    const dag = definition([...chain(task('a'), task('b'), task('c')), task('d', { after: ['a'] })]);
    const run = new FakeRun(dag).start('c');
    expect(['a', 'b', 'd'].map((node) => run.status(node))).toEqual(['SKIPPED', 'SKIPPED', 'SKIPPED']);
    run.fail('c');
    run.retry({ fromNodeId: 'a' });
    expect(resetBy(run).sort()).toEqual(['a', 'b', 'c', 'd']);
    run.complete('a');
    expect(['b', 'd'].map((node) => [run.status(node), run.task(node).generation])).toEqual([
      ['SCHEDULED', 2],
      ['SCHEDULED', 2],
    ]);
  });

  it('gives the run its whole deadline again, from now', () => {
    const run = new FakeRun(definition([task('a')], { deadlineMs: 60_000 })).start();
    run.store.now = 59_000;
    run.fail('a');
    expect(run.store.timers.size).toBe(0);
    run.store.now = 500_000;
    const decision = run.retry();
    const timers = decision.kind === 'applied' ? decision.actions.filter(({ type }) => type === 'SetTimer') : [];
    expect(timers).toMatchObject([{ kind: 'run-deadline', generation: 2, afterMs: 60_000, from: 'now' }]);
    run.fire('run-deadline');
    expect([run.store.now, run.state.status]).toEqual([560_000, 'EXPIRED']);
  });
});

describe('a retry that is refused (R16)', () => {
  const undoable = (id: string) => task(id, { compensate: true });

  /** a and b done and undone, c beside them. */
  function undone(): FakeRun {
    const run = new FakeRun(definition([...chain(undoable('b'), undoable('a'), task('x')), task('c')])).start();
    run.complete('b');
    run.complete('a');
    run.cancel();
    run.complete('a', '{}', { kind: 'compensate' });
    run.complete('b', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('CANCELLED');
    return run;
  }

  it('names every node whose undo has started and that would stay outside', () => {
    const run = undone();
    const { state } = run;
    expect(run.retry()).toMatchObject({ kind: 'refused', refusal: { code: 'UNDONE_NODES', nodes: ['a', 'b'] } });
    const fromA = run.retry({ fromNodeId: 'a' });
    expect(fromA).toMatchObject({ kind: 'refused', refusal: { code: 'UNDONE_NODES', nodes: ['b'] } });
    expect(run.state).toBe(state);
    expect(run.retry({ fromNodeId: 'b' })).toMatchObject({ kind: 'applied' });
  });

  it('does not ask for a step whose undo was dropped', () => {
    const run = new FakeRun(definition([task('pay'), undoable('mail')])).start().lease('mail');
    run.cancel();
    run.fail('mail', 'NO_ADDRESS');
    expect(run.task('mail', 'compensate').status).toBe('CANCELLED');
    expect(run.state.status).toBe('CANCELLED');
    expect(run.retry()).toMatchObject({ kind: 'applied' });
  });

  it('names the undos that failed or timed out, until they are resolved', () => {
    const dag = definition([...chain(undoable('a'), task('x')), undoable('b')], { compensationTimeoutMs: 60_000 });
    const run = new FakeRun(dag).start();
    run.complete('a');
    run.complete('b');
    run.cancel();
    run.fail('a', 'BROKEN', { kind: 'compensate' });
    run.fire('compensation-timeout');
    const refusal = run.retry({ fromNodeId: 'a' });
    expect(refusal).toMatchObject({ kind: 'refused', refusal: { code: 'UNRESOLVED_UNDO' } });
    expect(refusal.kind === 'refused' && [...(refusal.refusal.nodes ?? [])].sort()).toEqual(['a', 'b']);
    run.retryCompensation();
    run.complete('a', '{}', { kind: 'compensate' });
    run.complete('b', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('CANCELLED');
    expect(run.retry({ fromNodeId: 'a' })).toMatchObject({ refusal: { code: 'UNDONE_NODES', nodes: ['b'] } });
  });

  it('by a version that lacks a kept node, or sets an unsettled new one above it', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b'), task('c')))).start();
    run.complete('a');
    run.complete('b');
    run.fail('c');
    const without = definition(chain(task('a'), task('c')), { version: 2 });
    expect(run.retry({ dag: without })).toMatchObject({ refusal: { code: 'NODE_NOT_IN_VERSION', nodes: ['b'] } });
    const above = definition(chain(task('new'), task('a'), task('b'), task('c')), { version: 3 });
    expect(run.retry({ dag: above })).toMatchObject({ refusal: { code: 'NEW_NODE_UPSTREAM', nodes: ['new'] } });
    const beside = definition([...chain(task('a'), task('b'), task('c')), task('new', { after: ['b'] })], {
      version: 4,
    });
    expect(run.retry({ dag: beside })).toMatchObject({ kind: 'applied' });
  });
});

describe('a generation (R15)', () => {
  const a = task('a', { compensate: true });
  const dag = definition(chain(a, task('b')), { deadlineMs: 1_000, onDeadline: 'expire' });

  it('is the epoch of the first dispatch: a node that starts for the first time in epoch 2 is of generation 2', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b')))).start();
    run.fail('a');
    run.retry();
    run.complete('a');
    expect([run.task('a').generation, run.task('b').generation]).toEqual([2, 2]);
    expect(run.task('b').attempt).toBe(1);
  });

  it('stays with what a retry keeps, and its undo is of the same one', () => {
    const run = new FakeRun(definition(chain(a, task('b')), { deadlineMs: 1_000, onDeadline: 'expire' })).start();
    run.complete('a');
    run.fire('run-deadline');
    run.retry();
    expect([run.task('a').generation, run.task('b').generation, run.state.epoch]).toEqual([1, 2, 2]);
    run.fail('b');
    expect(run.task('a', 'compensate')).toMatchObject({ generation: 1, attempt: 1 });
  });

  it('tells two executions of a node apart, and each has an undo of its own', () => {
    const run = new FakeRun(dag).start();
    run.complete('a', '"a1"');
    run.fire('run-deadline');
    run.retry({ fromNodeId: 'a' });
    run.complete('a', '"a2"');
    run.fail('b');
    run.complete('a', '{}', { kind: 'compensate' });
    const sent = run.store.dispatches.filter(({ kind }) => kind === 'compensate');
    expect(sent.map(({ generation, attempt, input }) => [generation, attempt, input])).toEqual([
      [2, 1, '{"input":{},"output":"a2"}'],
      [1, 2, '{"input":{},"output":"a1"}'],
    ]);
  });

  it('stays with an undo that retryCompensation tries again', () => {
    const run = new FakeRun(definition(chain(a, task('b')))).start();
    run.complete('a');
    run.fail('b');
    for (const epoch of [2, 3]) {
      run.fail('a', 'BROKEN', { kind: 'compensate' });
      const { taskId } = run.task('a', 'compensate');
      run.retryCompensation();
      expect(run.state.epoch).toBe(epoch);
      expect(run.task('a', 'compensate')).toMatchObject({ taskId, generation: 1, attempt: epoch });
    }
  });
});
