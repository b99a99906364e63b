import { chain, definition, outputOf, task, template, wait } from '../testing/definitions.js';
import type { DefinitionOptions, TaskOptions } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

const undoable = (id: string, options: TaskOptions = {}) => task(id, { compensate: true, ...options });

/** reserve → charge → ship; ship fails definitely. */
function failedOrder(options: DefinitionOptions = {}, ship: TaskOptions = {}): FakeRun {
  const dag = definition(chain(undoable('reserve'), undoable('charge'), undoable('ship', ship)), options);
  const run = new FakeRun(dag).start();
  run.complete('reserve', '{"reserved":1}');
  run.complete('charge', '{"charged":2}');
  run.lease('ship').fail('ship', 'NO_CARRIER');
  return run;
}

describe('compensation (I10)', () => {
  it('B40: undoes a chain in reverse order, each when the one after it has settled; what failed is not undone', () => {
    const run = failedOrder();
    expect(run.state).toMatchObject({ status: 'COMPENSATING', cause: 'failure', undo: 'NONE' });
    expect([run.status('charge', 'compensate'), run.status('reserve', 'compensate')]).toEqual(['SCHEDULED', 'PLANNED']);
    expect(run.has('ship', 'compensate')).toBe(false);
    run.complete('charge', '{}', { kind: 'compensate' });
    expect(run.status('reserve', 'compensate')).toBe('SCHEDULED');
    run.complete('reserve', '{}', { kind: 'compensate' });
    expect(run.state).toMatchObject({
      status: 'COMPENSATED',
      undo: 'CLEAN',
      cause: 'failure',
      failure: { code: 'NO_CARRIER', nodeId: 'ship' },
    });
    expect(run.undoOrder()).toEqual(['charge', 'reserve']);
  });

  it('makes the whole plan in the decision that causes it', () => {
    const run = failedOrder();
    expect(run.journalKinds().slice(-5)).toEqual([
      'node.failed',
      'run.compensation_started',
      'undo.planned',
      'undo.planned',
      'task.scheduled',
    ]);
  });

  it("gives the undo the forward step's input and output, byte for byte", () => {
    const run = failedOrder();
    expect(run.inputOf('charge', 'compensate')).toBe('{"input":{},"output":{"charged":2}}');
  });

  it('renders an input of its own, which may read the step that it undoes and what lay above it', () => {
    const undoInput = template({ nodes: ['a', 'b'] }, (scope) => `[${scope.output('a')},${scope.output('b')}]`);
    const dag = definition(chain(task('a'), task('b', { compensate: { input: undoInput } }), task('c')));
    const run = new FakeRun(dag).start();
    run.complete('a', '1');
    run.complete('b', '2');
    run.fail('c');
    expect(run.inputOf('b', 'compensate')).toBe('[1,2]');
  });

  it('an undo whose input cannot be rendered has failed, and the others go on', () => {
    const broken = template({}, () => undefined);
    const dag = definition(chain(undoable('a'), task('b', { compensate: { input: broken } }), task('c')));
    const run = new FakeRun(dag).start();
    run.complete('a');
    run.complete('b');
    run.fail('c');
    expect(run.task('b', 'compensate')).toMatchObject({ status: 'FAILED', failure: { code: 'INPUT_UNRESOLVED' } });
    expect(run.status('a', 'compensate')).toBe('SCHEDULED');
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('COMPENSATION_FAILED');
  });

  it('a run with nothing to undo FAILED and never was COMPENSATING', () => {
    const run = new FakeRun(definition(chain(task('a'), undoable('b')))).start();
    run.complete('a');
    run.lease('b').fail('b');
    expect(run.state).toMatchObject({ status: 'FAILED', undo: 'NONE', cause: 'failure' });
    expect(run.journalKinds()).not.toContain('run.compensation_started');
  });

  it('undoes independent steps side by side, dependents first', () => {
    const run = new FakeRun(
      definition([
        undoable('a'),
        undoable('b'),
        undoable('c', { after: ['a'] }),
        task('d', { after: ['a', 'b', 'c'] }),
      ]),
    ).start();
    for (const node of ['a', 'b', 'c']) run.complete(node);
    run.fail('d');
    expect(new Set(run.undoOrder())).toEqual(new Set(['b', 'c']));
    run.complete('c', '{}', { kind: 'compensate' });
    expect(run.undoOrder().at(-1)).toBe('a');
  });

  it('waits for undos at any distance below, also through nodes that have none', () => {
    const run = new FakeRun(definition(chain(undoable('a'), task('plain'), undoable('c'), task('d')))).start();
    for (const node of ['a', 'plain', 'c']) run.complete(node);
    run.fail('d');
    expect(run.undoOrder()).toEqual(['c']);
    run.complete('c', '{}', { kind: 'compensate' });
    expect(run.undoOrder()).toEqual(['c', 'a']);
  });

  it('B40: sequential undoes one by one in reverse order of completion', () => {
    const nodes = [undoable('A'), undoable('B'), undoable('C'), task('D', { after: ['A', 'B', 'C'] })];
    const run = new FakeRun(definition(nodes, { compensation: 'sequential' })).start();
    for (const node of ['A', 'C', 'B']) run.complete(node);
    run.fail('D');
    for (const node of ['B', 'C', 'A']) {
      expect(run.undoOrder().at(-1)).toBe(node);
      run.complete(node, '{}', { kind: 'compensate' });
    }
    expect(run.state.status).toBe('COMPENSATED');
    expect(run.undoOrder()).toEqual(['B', 'C', 'A']);
  });

  it('compensateOn chooses the outcomes: SUCCEEDED may be left out, FAILED asked for', () => {
    const run = new FakeRun(
      definition(
        chain(undoable('a', { compensateOn: ['UNKNOWN'] }), undoable('b', { compensateOn: ['SUCCEEDED', 'FAILED'] })),
      ),
    ).start();
    run.complete('a');
    run.lease('b').fail('b');
    expect([run.has('a', 'compensate'), run.has('b', 'compensate')]).toEqual([false, true]);
    expect(run.inputOf('b', 'compensate')).toBe('{"input":{},"output":null}');
  });
});

describe('an undo that fails (B42)', () => {
  it('is tried by its own policy; the others are still tried; the run names it', () => {
    const run = failedOrder();
    run.lease('charge', 'compensate').fail('charge', 'BANK_DOWN', { kind: 'compensate', retryable: true });
    expect(run.task('charge', 'compensate')).toMatchObject({ status: 'BACKOFF', failures: 1 });
    run.wakeAfter(1_000, 'charge', 'compensate');
    run.lease('charge', 'compensate').fail('charge', 'ACCOUNT_CLOSED', { kind: 'compensate' });
    expect(run.status('charge', 'compensate')).toBe('FAILED');
    expect(run.status('reserve', 'compensate')).toBe('SCHEDULED');
    run.complete('reserve', '{}', { kind: 'compensate' });
    expect(run.state).toMatchObject({
      status: 'COMPENSATION_FAILED',
      undo: 'FAILED',
      failure: { code: 'COMPENSATION_FAILED', nodeId: 'charge' },
    });
    expect(run.state.failure?.message).toContain('undo failed for charge (ACCOUNT_CLOSED');
    expect(run.state.failure?.message).toContain('NO_CARRIER');
  });

  it('retryCompensation runs only what failed, with the same row and generation and a higher attempt', () => {
    const run = failedOrder();
    run.fail('charge', 'BANK_DOWN', { kind: 'compensate' });
    run.complete('reserve', '{}', { kind: 'compensate' });
    const before = run.task('charge', 'compensate');
    expect(run.retryCompensation()).toMatchObject({ kind: 'applied' });
    expect(run.state).toMatchObject({ status: 'COMPENSATING', epoch: 2, cause: 'failure', undo: 'NONE' });
    expect(run.task('charge', 'compensate')).toMatchObject({
      taskId: before.taskId,
      generation: 1,
      attempt: 2,
      failures: 0,
      status: 'SCHEDULED',
    });
    run.complete('charge', '{}', { kind: 'compensate' });
    expect(run.state).toMatchObject({ status: 'COMPENSATED', undo: 'CLEAN', failure: { code: 'NO_CARRIER' } });
    expect(run.undoOrder()).toEqual(['charge', 'reserve', 'charge']);
  });

  it('retryCompensation keeps the order among several, and restarts their scheduleToClose', () => {
    const slow = { compensate: { timeouts: { scheduleToCloseMs: 1_000 } } };
    const run = new FakeRun(definition(chain(task('a', slow), task('b', slow), task('c')))).start();
    run.complete('a');
    run.complete('b');
    run.fail('c');
    run.wakeAfter(1_000, 'b', 'compensate');
    run.wakeAfter(1_000, 'a', 'compensate');
    expect(run.state.status).toBe('COMPENSATION_FAILED');
    run.retryCompensation();
    expect([run.status('b', 'compensate'), run.status('a', 'compensate')]).toEqual(['SCHEDULED', 'PLANNED']);
    expect(run.wake('b', 'compensate')).toMatchObject({ kind: 'ignored' }); // its time has started anew
    run.complete('b', '{}', { kind: 'compensate' });
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('COMPENSATED');
  });

  it('retryCompensation is refused where no undo failed', () => {
    const run = failedOrder();
    expect(run.retryCompensation()).toMatchObject({ kind: 'refused', refusal: { code: 'ALREADY_COMPENSATING' } });
    run.complete('charge', '{}', { kind: 'compensate' });
    run.complete('reserve', '{}', { kind: 'compensate' });
    expect(run.retryCompensation()).toMatchObject({ kind: 'refused', refusal: { code: 'NOTHING_TO_COMPENSATE' } });
  });

  it('an interrupted undo is not a failed one: a lost lease sends it again', () => {
    const run = failedOrder();
    run.lease('charge', 'compensate').wakeAfter(30_000, 'charge', 'compensate');
    expect(run.task('charge', 'compensate')).toMatchObject({ status: 'SCHEDULED', attempt: 2, losses: 1, failures: 0 });
  });
});

describe('a step that is cut off (R17, R18)', () => {
  /** pay beside mail; pay fails while mail is out. */
  function payBesideMail(mail: TaskOptions = { compensate: true }, options: DefinitionOptions = {}): FakeRun {
    return new FakeRun(definition([task('pay'), task('mail', mail)], options)).start();
  }

  it('never leased: cancelled at once and not undone (B39)', () => {
    const run = payBesideMail();
    run.fail('pay');
    expect(run.task('mail')).toMatchObject({ status: 'CANCELLED', unknownOutcome: false });
    expect(run.state.status).toBe('FAILED');
  });

  it('leased with a compensator: keeps its lease, its undo is planned and waits', () => {
    const run = payBesideMail().lease('mail');
    run.fail('pay');
    expect(run.task('mail')).toMatchObject({ status: 'SCHEDULED', cutOff: true });
    expect(run.status('mail', 'compensate')).toBe('PLANNED');
    expect(run.wakeAfter(29_999, 'mail')).toMatchObject({ kind: 'ignored' });
    run.wakeAfter(1, 'mail');
    expect(run.task('mail')).toMatchObject({ status: 'CANCELLED', unknownOutcome: true, cutOff: false });
    expect(run.status('mail', 'compensate')).toBe('SCHEDULED');
    run.complete('mail', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('COMPENSATED');
  });

  it('heartbeats keep it for 30 s more and no longer', () => {
    const run = payBesideMail({ compensate: true, timeouts: { heartbeatMs: 20_000 } }).lease('mail');
    run.fail('pay');
    for (let i = 0; i < 2; i += 1) {
      run.store.now += 15_000;
      run.store.heartbeat(run.task('mail').taskId);
    }
    run.wake('mail');
    expect(run.status('mail')).toBe('CANCELLED');
  });

  it('a success in that window is recorded and feeds the undo', () => {
    const run = payBesideMail().lease('mail');
    run.fail('pay');
    expect(run.complete('mail', '{"sent":7}')).toMatchObject({ kind: 'applied', report: 'APPLIED_CANCELLED' });
    expect(run.status('mail')).toBe('SUCCEEDED');
    expect(run.inputOf('mail', 'compensate')).toBe('{"input":{},"output":{"sent":7}}');
  });

  it('a definite failure in that window drops the undo, and is not tried again', () => {
    const run = payBesideMail().lease('mail');
    run.fail('pay');
    expect(run.fail('mail', 'NO_ADDRESS', { retryable: true })).toMatchObject({ report: 'APPLIED_CANCELLED' });
    expect([run.status('mail'), run.status('mail', 'compensate')]).toEqual(['FAILED', 'CANCELLED']);
    expect(run.state).toMatchObject({ status: 'COMPENSATED', undo: 'CLEAN' });
    expect(run.journalKinds()).toContain('undo.dropped');
  });

  it('a handler that was stopped by the cancel tells nothing about its effects', () => {
    const run = payBesideMail().lease('mail');
    run.fail('pay');
    run.fail('mail', 'CANCELLED');
    expect(run.task('mail')).toMatchObject({ status: 'CANCELLED', unknownOutcome: true });
    expect(run.status('mail', 'compensate')).toBe('SCHEDULED');
  });

  it('given back before it started: nothing to undo; after it started: unknown', () => {
    const before = payBesideMail().lease('mail');
    before.fail('pay');
    before.release('mail', false);
    expect(before.status('mail', 'compensate')).toBe('CANCELLED');
    const after = payBesideMail().lease('mail');
    after.fail('pay');
    after.defer('mail', 1_000);
    expect(after.status('mail', 'compensate')).toBe('SCHEDULED');
  });

  it('leased without a compensator: closed at once, as unknown', () => {
    const run = payBesideMail({}).lease('mail');
    run.fail('pay');
    expect(run.task('mail')).toMatchObject({ status: 'CANCELLED', unknownOutcome: true });
    expect(run.state.status).toBe('FAILED');
  });

  it('whose lease has run out already is not waited for', () => {
    const run = payBesideMail().lease('mail');
    run.store.now += 30_000;
    run.fail('pay');
    expect(run.task('mail')).toMatchObject({ status: 'CANCELLED', unknownOutcome: true });
    expect(run.status('mail', 'compensate')).toBe('SCHEDULED');
  });

  it('deferred: it said that it is not done, so it is undone; in backoff after a failure: it is not', () => {
    const deferred = payBesideMail().lease('mail');
    deferred.defer('mail', 5_000);
    deferred.fail('pay');
    expect(deferred.status('mail', 'compensate')).toBe('SCHEDULED');
    const failed = payBesideMail().lease('mail');
    failed.fail('mail', 'BROKEN', { retryable: true });
    failed.fail('pay');
    expect(failed.has('mail', 'compensate')).toBe(false);
  });

  it('deferred, and dispatched again to nobody: it is still not done, so it is undone', () => {
    const cancelled = payBesideMail().lease('mail');
    cancelled.defer('mail', 5_000);
    cancelled.wakeAfter(5_000, 'mail');
    cancelled.fail('pay');
    expect(cancelled.task('mail')).toMatchObject({ status: 'CANCELLED', attempt: 2, unknownOutcome: true });
    expect(cancelled.status('mail', 'compensate')).toBe('SCHEDULED');
    const givenBack = payBesideMail().lease('mail');
    givenBack.defer('mail', 5_000);
    givenBack.wakeAfter(5_000, 'mail');
    givenBack.lease('mail').release('mail', false);
    givenBack.fail('pay');
    expect(givenBack.status('mail', 'compensate')).toBe('SCHEDULED');
    const late = payBesideMail({ compensate: true, timeouts: { scheduleToCloseMs: 8_000 } }).lease('mail');
    late.defer('mail', 5_000);
    late.wakeAfter(8_000, 'mail');
    expect(late.task('mail')).toMatchObject({ status: 'TIMED_OUT', unknownOutcome: true });
    expect(late.status('mail', 'compensate')).toBe('SCHEDULED');
    const known = payBesideMail().lease('mail');
    known.defer('mail', 5_000);
    known.wakeAfter(5_000, 'mail');
    known.lease('mail').fail('mail', 'DECLINED');
    known.fail('pay');
    expect(known.has('mail', 'compensate')).toBe(false);
  });

  it('R17: an unknown outcome sticks, also when a later attempt failed definitely, unless one succeeded (B38)', () => {
    const sticky = new FakeRun(definition([task('pay', { compensate: true })])).start().lease('pay');
    sticky.wakeAfter(30_000, 'pay');
    sticky.lease('pay').fail('pay', 'DECLINED');
    expect(sticky.status('pay', 'compensate')).toBe('SCHEDULED');
    const known = new FakeRun(definition([task('pay', { compensate: true })])).start().lease('pay');
    known.wakeAfter(30_000, 'pay');
    known.lease('pay').complete('pay');
    expect(known.task('pay').unknownOutcome).toBe(false);
  });

  it('R17: an earlier attempt of unknown outcome counts, though the next one was not leased or is in backoff', () => {
    const unleased = payBesideMail().lease('mail');
    unleased.wakeAfter(30_000, 'mail');
    unleased.fail('pay');
    expect(unleased.task('mail')).toMatchObject({ status: 'CANCELLED', attempt: 2, unknownOutcome: true });
    expect(unleased.status('mail', 'compensate')).toBe('SCHEDULED');
    const inBackoff = payBesideMail({ compensate: true, timeouts: { startToCloseMs: 10_000 } }).lease('mail');
    inBackoff.wakeAfter(10_000, 'mail');
    inBackoff.fail('pay');
    expect(inBackoff.task('mail')).toMatchObject({ status: 'CANCELLED', failures: 1, unknownOutcome: true });
    expect(inBackoff.status('mail', 'compensate')).toBe('SCHEDULED');
  });

  it('B38: what timed out is undone with what succeeded, and a late success does not stop it', () => {
    const ship = undoable('ship', { after: ['pay'], retry: { maxAttempts: 1 }, timeouts: { startToCloseMs: 10_000 } });
    const run = new FakeRun(definition([undoable('pay'), ship, undoable('mail')])).start().lease('mail');
    run.complete('pay');
    run.lease('ship').wakeAfter(10_000, 'ship');
    expect(run.task('ship')).toMatchObject({ status: 'TIMED_OUT', unknownOutcome: true });
    expect(run.complete('ship')).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect([run.status('ship', 'compensate'), run.status('pay', 'compensate')]).toEqual(['SCHEDULED', 'PLANNED']);
    run.complete('ship', '{}', { kind: 'compensate' });
    run.complete('pay', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('COMPENSATING'); // mail is still out
    run.complete('mail');
    run.complete('mail', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('COMPENSATED');
  });

  it('sequential: nothing is undone before the last cut-off step has ended', () => {
    const nodes = [undoable('a'), task('b', { after: ['a'] }), undoable('c')];
    const run = new FakeRun(definition(nodes, { compensation: 'sequential' })).start();
    run.complete('a');
    run.lease('c').fail('b');
    expect(run.undoOrder()).toEqual([]);
    run.complete('c');
    expect(run.undoOrder()).toEqual(['c']); // the last to end is the first to be undone
    run.complete('c', '{}', { kind: 'compensate' });
    expect(run.undoOrder()).toEqual(['c', 'a']);
  });

  it('an open wait is cancelled with its timer', () => {
    const run = new FakeRun(definition([task('pay'), wait('ok', { timeoutMs: 86_400_000 })])).start();
    run.fail('pay');
    expect(run.status('ok')).toBe('CANCELLED');
    expect(run.store.timers.size).toBe(0);
    expect(run.state.status).toBe('FAILED');
  });
});

describe('outputs that an undo reads', () => {
  it('null for its own step when that never answered', () => {
    const dag = definition([task('a', { compensate: { input: outputOf('a') }, retry: { maxAttempts: 1 } })]);
    const run = new FakeRun(dag).start().lease('a');
    run.store.now += 3_600_000;
    run.cancel();
    expect(run.task('a', 'compensate')).toMatchObject({ status: 'SCHEDULED' });
    expect(run.inputOf('a', 'compensate')).toBe('null');
  });
});
