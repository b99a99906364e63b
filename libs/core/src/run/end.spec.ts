import { chain, definition, task, wait } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

describe('cancel', () => {
  it('undoes what was done, then the run is CANCELLED', () => {
    const run = new FakeRun(definition(chain(task('a', { compensate: true }), task('b')))).start();
    run.complete('a');
    run.cancel('changed my mind');
    expect(run.state).toMatchObject({
      status: 'COMPENSATING',
      cause: 'cancel',
      failure: { message: 'changed my mind' },
    });
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.state).toMatchObject({ status: 'CANCELLED', undo: 'CLEAN', cause: 'cancel' });
  });

  it('ends a run with nothing to undo at once', () => {
    const run = new FakeRun(definition([task('a'), wait('w')])).start();
    run.cancel();
    expect(run.state).toMatchObject({ status: 'CANCELLED', undo: 'NONE' });
    expect([run.status('a'), run.status('w')]).toEqual(['CANCELLED', 'CANCELLED']);
  });

  it('B34: after the last completion it is refused; before it, the report changes nothing', () => {
    const completed = new FakeRun(definition([task('a')])).start();
    completed.complete('a');
    expect(completed.cancel()).toMatchObject({
      kind: 'refused',
      refusal: { code: 'RUN_TERMINAL', message: 'the run has ended: SUCCEEDED' },
    });
    const cancelled = new FakeRun(definition([task('a')])).start().lease('a');
    cancelled.cancel();
    expect(cancelled.complete('a')).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect(cancelled.state.status).toBe('CANCELLED');
  });

  it('R19: twice is once, and a run that is undone for another reason refuses it', () => {
    const run = new FakeRun(definition(chain(task('a', { compensate: true }), task('b')))).start();
    run.complete('a');
    run.cancel();
    expect(run.cancel()).toMatchObject({ kind: 'ignored', duplicate: true });
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.cancel()).toMatchObject({ kind: 'ignored', duplicate: true });

    const failed = new FakeRun(definition(chain(task('a', { compensate: true }), task('b')))).start();
    failed.complete('a');
    failed.fail('b');
    expect(failed.cancel()).toMatchObject({ kind: 'refused', refusal: { code: 'ALREADY_COMPENSATING' } });
  });

  it('that cannot undo everything is COMPENSATION_FAILED, whatever began it', () => {
    const run = new FakeRun(definition(chain(task('a', { compensate: true }), task('b')))).start();
    run.complete('a');
    run.cancel();
    run.fail('a', 'BROKEN', { kind: 'compensate' });
    expect(run.state).toMatchObject({ status: 'COMPENSATION_FAILED', cause: 'cancel', undo: 'FAILED' });
    run.retryCompensation();
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.state).toMatchObject({ status: 'CANCELLED', undo: 'CLEAN', failure: { code: 'CANCELLED' } });
  });
});

describe('the deadline of a run', () => {
  const nodes = chain(task('a', { compensate: true }), task('b'));

  it('counts from the start that the caller gave, undoes what was done, and ends as EXPIRED', () => {
    const run = new FakeRun(definition(nodes, { deadlineMs: 60_000 })).start();
    const decision = run.last;
    expect(decision?.kind === 'applied' && decision.actions.find((action) => action.type === 'SetTimer')).toMatchObject(
      {
        kind: 'run-deadline',
        afterMs: 60_000,
        from: 'run-start',
      },
    );
    run.complete('a');
    run.fire('run-deadline');
    expect(run.state).toMatchObject({ status: 'COMPENSATING', cause: 'deadline' });
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.state).toMatchObject({ status: 'EXPIRED', failure: { code: 'DEADLINE_EXCEEDED' } });
  });

  it('with onDeadline expire leaves what was done, and closes what is out', () => {
    const run = new FakeRun(definition(nodes, { deadlineMs: 60_000, onDeadline: 'expire' })).start();
    run.complete('a');
    run.lease('b').fire('run-deadline');
    expect(run.state).toMatchObject({ status: 'EXPIRED', undo: 'NONE' });
    expect(run.task('b')).toMatchObject({ status: 'CANCELLED', unknownOutcome: true });
  });

  it('B37, R19: means nothing once the run is undone, and the undo is not begun twice', () => {
    const run = new FakeRun(definition(nodes, { deadlineMs: 60_000 })).start();
    const timer = run.timer('run-deadline');
    run.complete('a');
    run.cancel();
    expect(run.store.timers.size).toBe(0);
    run.store.timers.set(timer.timerId, timer);
    run.store.now += 60_000;
    expect(run.handle({ type: 'TimerFired', timerId: timer.timerId })).toMatchObject({ kind: 'ignored' });
    expect(run.store.timers.size).toBe(0);
    expect(run.undoOrder()).toEqual(['a']);
  });

  it('of an earlier epoch is void, and a new epoch has its own', () => {
    const run = new FakeRun(definition([task('a')], { deadlineMs: 60_000 })).start();
    const old = run.timer('run-deadline');
    run.fail('a');
    run.store.now += 50_000;
    run.retry();
    expect(run.timer('run-deadline')).toMatchObject({ generation: 2, dueAt: 110_000 });
    run.store.timers.set(old.timerId, old);
    run.store.now = 60_000;
    expect(run.handle({ type: 'TimerFired', timerId: old.timerId })).toMatchObject({ kind: 'ignored' });
    expect(run.state.status).toBe('RUNNING');
  });
});

describe('compensationTimeout (R19)', () => {
  it('bounds the undo: what is open counts as failed and may be tried again', () => {
    const dag = definition(chain(task('a', { compensate: true }), task('b', { compensate: true }), task('c')), {
      compensationTimeoutMs: 60_000,
    });
    const run = new FakeRun(dag).start();
    run.complete('a');
    run.complete('b');
    run.fail('c');
    run.lease('b', 'compensate').fire('compensation-timeout');
    expect(run.state).toMatchObject({ status: 'COMPENSATION_FAILED', undo: 'FAILED' });
    expect([run.status('a', 'compensate'), run.status('b', 'compensate')]).toEqual(['TIMED_OUT', 'TIMED_OUT']);
    run.retryCompensation();
    expect(run.timer('compensation-timeout').generation).toBe(2);
    run.complete('b', '{}', { kind: 'compensate' });
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.state.status).toBe('COMPENSATED');
  });

  it('ends a cut-off step as unknown', () => {
    const dag = definition([task('a'), task('b', { compensate: true })], { compensationTimeoutMs: 1_000 });
    const run = new FakeRun(dag).start().lease('b');
    run.fail('a');
    run.fire('compensation-timeout');
    expect(run.task('b')).toMatchObject({ status: 'CANCELLED', unknownOutcome: true });
    expect(run.state.status).toBe('COMPENSATION_FAILED');
  });

  it('is gone when the undo is over', () => {
    const dag = definition(chain(task('a', { compensate: true }), task('b')), { compensationTimeoutMs: 1_000 });
    const run = new FakeRun(dag).start();
    run.complete('a');
    run.fail('b');
    const timer = run.timer('compensation-timeout');
    run.complete('a', '{}', { kind: 'compensate' });
    expect(run.store.timers.size).toBe(0);
    run.store.timers.set(timer.timerId, timer);
    run.store.now += 1_000;
    expect(run.handle({ type: 'TimerFired', timerId: timer.timerId })).toMatchObject({ kind: 'ignored' });
  });
});
