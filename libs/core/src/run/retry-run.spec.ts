import { chain, definition, outputOf, task, wait, wholeInput } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

describe('a retry of a run (R16)', () => {
  /** a → b → c, and x beside them; b fails. */
  const dag = definition([...chain(task('a'), task('b'), task('c')), task('x')]);

  function failedAtB(): FakeRun {
    const run = new FakeRun(dag).start();
    run.complete('x', '"x1"');
    run.complete('a', '"a1"');
    run.lease('b').fail('b');
    expect(run.state.status).toBe('FAILED');
    return run;
  }

  it('opens an epoch, runs again what failed and what lies below it, and keeps the rest', () => {
    const run = failedAtB();
    expect(run.retry()).toMatchObject({ kind: 'applied' });
    expect(run.state).toMatchObject({ status: 'RUNNING', epoch: 2, failure: null, cause: null, undo: 'NONE' });
    expect(run.task('b')).toMatchObject({ generation: 2, status: 'SCHEDULED', attempt: 2, failures: 0 });
    expect(run.task('a')).toMatchObject({ generation: 1, status: 'SUCCEEDED' });
    run.complete('b');
    run.complete('c');
    expect(run.state.status).toBe('SUCCEEDED');
  });

  it('R11, R15: keeps the rows of both epochs, and attempts go on rising', () => {
    const run = failedAtB();
    run.retry();
    const rows = [...run.state.tasks.values()].filter((row) => row.nodeId === 'b');
    expect(rows.map((row) => [row.generation, row.attempt, row.status])).toEqual([
      [1, 1, 'FAILED'],
      [2, 2, 'SCHEDULED'],
    ]);
  });

  it('from a node resets it and all below it, also what SUCCEEDED (B82)', () => {
    const run = failedAtB();
    run.retry({ fromNodeId: 'a' });
    expect(run.task('a')).toMatchObject({ generation: 2, status: 'SCHEDULED' });
    expect(run.task('b').generation).toBe(1); // waits for a
    run.complete('a', '"a2"');
    expect(run.task('b')).toMatchObject({ generation: 2, status: 'SCHEDULED' });
    expect(run.task('x').generation).toBe(1);
  });

  it('a reset node is not done until it has run again, though its old row says SUCCEEDED', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b'), task('c')))).start();
    run.complete('a', '"a1"');
    run.complete('b', '"b1"');
    run.fail('c');
    run.retry({ fromNodeId: 'a' });
    run.complete('a', '"a2"');
    expect(run.state.status).toBe('RUNNING');
    run.complete('b', '"b2"');
    run.complete('c');
    expect(run.state.status).toBe('SUCCEEDED');
    expect(run.store.dispatches.map((sent) => `${sent.nodeId}${sent.attempt}`)).toEqual([
      'a1',
      'b1',
      'c1',
      'a2',
      'b2',
      'c2',
    ]);
  });

  it('reads outputs of the newest executions', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b', { input: outputOf('a') })))).start();
    run.complete('a', '"a1"');
    run.fail('b');
    run.retry({ fromNodeId: 'a' });
    run.complete('a', '"a2"');
    expect(run.inputOf('b')).toBe('"a2"');
  });

  it('with new input: the run has it from then on', () => {
    const run = new FakeRun(definition([task('a', { input: wholeInput })]), '"old"').start();
    run.fail('a');
    run.retry({ input: '"new"' });
    expect(run.inputOf('a')).toBe('"new"');
    expect(run.store.runInput).toBe('"new"');
  });

  it('starts the failed nodes that nothing above holds back, and cancelled waits with new timers', () => {
    const nodes = [task('a'), wait('w', { timeoutMs: 5_000 }), task('b', { after: ['a', 'w'] })];
    const run = new FakeRun(definition(nodes)).start();
    run.fail('a');
    expect(run.status('w')).toBe('CANCELLED');
    run.retry();
    expect([run.status('a'), run.status('w')]).toEqual(['SCHEDULED', 'WAITING']);
    expect(run.timer('wait-timeout').generation).toBe(2);
  });

  it('of a run that started from a node runs its start node again', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b'), task('c')))).start('b');
    run.fail('b');
    run.retry();
    expect([run.status('a'), run.status('b')]).toEqual(['SKIPPED', 'SCHEDULED']);
    run.complete('b');
    expect(run.status('c')).toBe('SCHEDULED');
  });

  it('from a skipped node runs it and all below it (B82)', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b'), task('c')))).start('b');
    run.fail('b');
    run.retry({ fromNodeId: 'a' });
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', generation: 2 });
    run.complete('a');
    expect(run.task('b')).toMatchObject({ status: 'SCHEDULED', generation: 2 });
  });

  it('after a retry that failed at once can be tried once more', () => {
    const run = failedAtB();
    run.retry();
    run.fail('b');
    run.retry();
    expect(run.task('b')).toMatchObject({ generation: 3, attempt: 3 });
  });

  it('B85: is refused for what is SUCCEEDED, COMPENSATED or not over', () => {
    const running = new FakeRun(dag).start();
    expect(running.retry()).toMatchObject({ kind: 'refused', refusal: { code: 'NOT_RETRYABLE' } });
    const succeeded = new FakeRun(definition([task('a')])).start();
    succeeded.complete('a');
    expect(succeeded.retry()).toMatchObject({ kind: 'refused', refusal: { code: 'NOT_RETRYABLE' } });
    const compensated = new FakeRun(definition(chain(task('a', { compensate: true }), task('b')))).start();
    compensated.complete('a');
    compensated.fail('b');
    compensated.complete('a', '{}', { kind: 'compensate' });
    expect(compensated.retry()).toMatchObject({ kind: 'refused', refusal: { code: 'NOT_RETRYABLE' } });
  });

  it('B85: a cancelled run may be retried: what was cut off runs', () => {
    const run = new FakeRun(definition(chain(task('a'), task('b')))).start();
    run.cancel();
    run.retry();
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', generation: 2 });
  });

  it('is refused from a node that does not exist', () => {
    const run = failedAtB();
    expect(run.retry({ fromNodeId: 'zzz' })).toMatchObject({ kind: 'refused', refusal: { code: 'NODE_NOT_FOUND' } });
  });
});

describe('a retry after an undo', () => {
  const dag = definition(chain(task('a', { compensate: true }), task('b'), task('c')));

  function cancelledAndUndone(): FakeRun {
    const run = new FakeRun(dag).start();
    run.complete('a');
    run.cancel();
    run.complete('a', '{}', { kind: 'compensate' });
    return run;
  }

  it('is refused while a node whose undo has started would stay outside', () => {
    const run = cancelledAndUndone();
    expect(run.retry()).toMatchObject({ kind: 'refused', refusal: { code: 'UNDONE_NODES', nodes: ['a'] } });
  });

  it('from that node runs it again, and a later failure undoes the new generation only', () => {
    const run = cancelledAndUndone();
    run.retry({ fromNodeId: 'a' });
    run.complete('a');
    run.fail('b');
    const undos = [...run.state.tasks.values()].filter((row) => row.kind === 'compensate');
    expect(undos.map((row) => [row.generation, row.status, row.attempt])).toEqual([
      [1, 'SUCCEEDED', 1],
      [2, 'SCHEDULED', 2],
    ]);
  });

  it('is refused while an undo that failed is not resolved', () => {
    const run = new FakeRun(dag).start();
    run.complete('a');
    run.cancel();
    run.fail('a', 'BROKEN', { kind: 'compensate' });
    expect(run.state.status).toBe('COMPENSATION_FAILED');
    expect(run.retry({ fromNodeId: 'a' })).toMatchObject({
      kind: 'refused',
      refusal: { code: 'UNRESOLVED_UNDO', nodes: ['a'] },
    });
  });

  it('of an expired run whose effects were kept undoes all generations in the end, the newest first', () => {
    const expiring = definition(chain(task('a', { compensate: true }), task('b')), {
      deadlineMs: 1_000,
      onDeadline: 'expire',
    });
    const run = new FakeRun(expiring).start();
    run.complete('a');
    run.fire('run-deadline');
    run.retry({ fromNodeId: 'a' });
    run.complete('a');
    run.fail('b');
    const undos = () => [...run.state.tasks.values()].filter((row) => row.kind === 'compensate');
    expect(undos().map((row) => [row.generation, row.status])).toEqual([
      [2, 'SCHEDULED'],
      [1, 'PLANNED'],
    ]);
    run.complete('a', '{}', { kind: 'compensate' });
    expect(undos().map((row) => row.status)).toEqual(['SUCCEEDED', 'SCHEDULED']);
  });
});

describe('the undo of an older generation', () => {
  it('reads what that execution could read, not what came later', () => {
    const b = task('b', { compensate: { input: outputOf('a') } });
    const dag = definition(chain(task('a'), b, task('c')), { deadlineMs: 1_000, onDeadline: 'expire' });
    const run = new FakeRun(dag).start();
    run.complete('a', '"a1"');
    run.complete('b');
    run.fire('run-deadline');
    run.retry({ fromNodeId: 'a' });
    run.complete('a', '"a2"');
    run.complete('b');
    run.fail('c');
    run.complete('b', '{}', { kind: 'compensate' });
    const undos = run.store.dispatches.filter((sent) => sent.kind === 'compensate');
    expect(undos.map((sent) => [sent.generation, sent.input])).toEqual([
      [2, '"a2"'],
      [1, '"a1"'],
    ]);
  });
});

describe('a retry on another version (B83)', () => {
  const v1 = definition(chain(task('a'), task('b'), task('c')));

  function failedAtC(): FakeRun {
    const run = new FakeRun(v1).start();
    run.complete('a');
    run.complete('b');
    run.fail('c');
    return run;
  }

  it('stays on the pinned one unless told otherwise', () => {
    const run = failedAtC();
    run.retry({ fromNodeId: 'c' });
    expect(run.state.definitionVersion).toBe(1);
  });

  it('moves the run, and goes on with its nodes', () => {
    const run = failedAtC();
    const v2 = definition(chain(task('a'), task('b'), task('c', { queue: 'fast' }), task('d')), { version: 2 });
    expect(run.retry({ dag: v2 })).toMatchObject({ kind: 'applied' });
    expect(run.state.definitionVersion).toBe(2);
    expect(run.store.dispatches.at(-1)).toMatchObject({ nodeId: 'c', queue: 'fast' });
    run.complete('c');
    run.complete('d');
    expect(run.state.status).toBe('SUCCEEDED');
  });

  it('is refused when the version lacks what failed, the node to start from, or a kept node', () => {
    const withoutC = definition(chain(task('a'), task('b'), task('c2')), { version: 2 });
    const refusal = { kind: 'refused', refusal: { code: 'NODE_NOT_IN_VERSION', nodes: ['c'] } };
    expect(failedAtC().retry({ dag: withoutC })).toMatchObject(refusal);
    expect(failedAtC().retry({ dag: withoutC, fromNodeId: 'c' })).toMatchObject(refusal);
    const withoutB = definition(chain(task('a'), task('c')), { version: 3 });
    expect(failedAtC().retry({ dag: withoutB })).toMatchObject({
      kind: 'refused',
      refusal: { code: 'NODE_NOT_IN_VERSION', nodes: ['b'] },
    });
  });

  it('may replace what failed when it starts above it', () => {
    const run = failedAtC();
    const v2 = definition(chain(task('a'), task('b'), task('c2')), { version: 2 });
    expect(run.retry({ dag: v2, fromNodeId: 'b' })).toMatchObject({ kind: 'applied' });
    run.complete('b');
    run.complete('c2');
    expect(run.state.status).toBe('SUCCEEDED');
  });

  it('is refused when a new node would lie above a kept one', () => {
    const v2 = definition(chain(task('a'), task('new'), task('b'), task('c')), { version: 2 });
    expect(failedAtC().retry({ dag: v2 })).toMatchObject({
      kind: 'refused',
      refusal: { code: 'NEW_NODE_UPSTREAM', nodes: ['new'] },
    });
  });

  it('starts new nodes beside the kept ones', () => {
    const v2 = definition([...chain(task('a'), task('b'), task('c')), task('side'), task('after', { after: ['a'] })], {
      version: 2,
    });
    const run = failedAtC();
    run.retry({ dag: v2 });
    expect(['c', 'side', 'after'].map((node) => run.status(node))).toEqual(['SCHEDULED', 'SCHEDULED', 'SCHEDULED']);
  });

  it('skips new nodes that have no way in, and what lies below them', () => {
    const run = new FakeRun(v1).start('b');
    run.fail('b');
    const below = [task('x', { after: ['a'] }), task('y', { after: ['x'] }), task('z', { after: ['x', 'c'] })];
    const v2 = definition([...chain(task('a'), task('b'), task('c')), ...below], { version: 2 });
    run.retry({ dag: v2 });
    expect(['a', 'x', 'y', 'z'].map((node) => run.status(node))).toEqual(['SKIPPED', 'SKIPPED', 'SKIPPED', 'ABSENT']);
    run.complete('b');
    run.complete('c');
    run.complete('z');
    expect(run.state.status).toBe('SUCCEEDED');
  });

  it('runs again what a new edge puts below something newer', () => {
    const first = definition([task('a'), task('b'), task('c', { after: ['a', 'b'] })]);
    const run = new FakeRun(first).start();
    run.complete('a');
    run.complete('b');
    run.fail('c');
    run.retry({ fromNodeId: 'a' });
    run.complete('a');
    run.fail('c');
    const v2 = definition([task('a'), task('b', { after: ['a'] }), task('c', { after: ['a', 'b'] })], { version: 2 });
    run.retry({ dag: v2 });
    expect(run.task('b')).toMatchObject({ generation: 3, status: 'SCHEDULED' });
  });
});
