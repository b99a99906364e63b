import { chain, definition, task } from '../testing/definitions.js';
import type { TaskOptions } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

const MINUTE_MS = 60_000;

function oneStep(options: TaskOptions = {}): FakeRun {
  return new FakeRun(definition(chain(task('a', options), task('b')))).start();
}

describe('a wake-up of a task (R12)', () => {
  it('B26 b, R11: a lost lease is a loss, not a failure, and the task goes out again at once', () => {
    const run = oneStep({ retry: { maxAttempts: 1 } }).lease('a');
    const woken = run.wakeAfter(30_000, 'a');
    expect(woken).toMatchObject({ kind: 'applied' });
    expect(run.task('a')).toMatchObject({
      status: 'SCHEDULED',
      attempt: 2,
      failures: 0,
      losses: 1,
      unknownOutcome: true,
      failure: { code: 'LEASE_LOST' },
    });
    expect(woken.kind === 'applied' && woken.actions.find((action) => action.type === 'RetryTask')).toMatchObject({
      endedBy: 'lease',
    });
  });

  it('R11: losses have a cap of their own', () => {
    const run = oneStep();
    for (let i = 0; i < 10; i += 1) {
      run.lease('a').wakeAfter(30_000, 'a');
    }
    expect(run.task('a')).toMatchObject({ status: 'FAILED', losses: 10, failures: 0, failure: { code: 'LEASE_LOST' } });
    expect(run.state.status).toBe('FAILED');
  });

  it('after a heartbeat is only armed again', () => {
    const run = oneStep().lease('a');
    run.store.now += 20_000;
    run.store.heartbeat(run.task('a').taskId);
    const woken = run.wakeAfter(10_000, 'a');
    expect(woken).toMatchObject({ kind: 'ignored', actions: [{ type: 'WakeTask', taskId: run.task('a').taskId }] });
  });

  it('startToClose ends the attempt as a failure with an unknown outcome, heartbeats or not', () => {
    const run = oneStep({ timeouts: { startToCloseMs: MINUTE_MS }, retry: { maxAttempts: 2 } }).lease('a');
    for (let i = 0; i < 4; i += 1) {
      run.store.now += 15_000;
      run.store.heartbeat(run.task('a').taskId);
    }
    run.wake('a');
    expect(run.task('a')).toMatchObject({
      status: 'BACKOFF',
      failures: 1,
      unknownOutcome: true,
      failure: { code: 'TIMEOUT' },
    });
    run.wakeAfter(1_000, 'a');
    run.lease('a');
    run.store.tasks.get(run.task('a').taskId)!.leaseExpiresAt = Number.POSITIVE_INFINITY;
    run.wakeAfter(MINUTE_MS, 'a');
    expect(run.task('a')).toMatchObject({ status: 'TIMED_OUT', failures: 2 });
    expect(run.state.failure).toMatchObject({ code: 'TIMEOUT', nodeId: 'a' });
  });

  it('B26 a: scheduleToStart gives another attempt, and never leased means never started (R17)', () => {
    const run = oneStep({ timeouts: { scheduleToStartMs: MINUTE_MS }, retry: { maxAttempts: 2 } });
    run.wakeAfter(MINUTE_MS, 'a');
    expect(run.task('a')).toMatchObject({ status: 'BACKOFF', failures: 1, unknownOutcome: false });
    run.wakeAfter(1_000, 'a');
    run.wakeAfter(MINUTE_MS, 'a');
    expect(run.task('a')).toMatchObject({ status: 'TIMED_OUT', failure: { code: 'SCHEDULE_TO_START_TIMEOUT' } });
  });

  it('scheduleToStart means nothing to a task that was started', () => {
    const run = oneStep({ timeouts: { scheduleToStartMs: 10_000 } }).lease('a');
    expect(run.wakeAfter(10_000, 'a')).toMatchObject({ kind: 'ignored' });
  });

  it('R12: without scheduleToStart a guard sends the task again: 5 minutes, doubling, at most an hour', () => {
    const run = oneStep();
    for (const minutes of [5, 10, 20, 40, 60, 60]) {
      run.wakeAfter(minutes * MINUTE_MS - 1, 'a');
      const { attempt } = run.task('a');
      run.wakeAfter(1, 'a');
      expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', attempt: attempt + 1, failures: 0, losses: 0 });
    }
    expect(run.task('a').redispatches).toBe(6);
    expect(run.journalKinds().filter((kind) => kind === 'task.redispatched')).toHaveLength(6);
  });

  it('scheduleToClose bounds all attempts together: in backoff, unleased and leased', () => {
    const inBackoff = oneStep({ timeouts: { scheduleToCloseMs: 500 } }).lease('a');
    inBackoff.fail('a', 'BROKEN', { retryable: true });
    inBackoff.wakeAfter(500, 'a');
    expect(inBackoff.task('a')).toMatchObject({ status: 'TIMED_OUT', unknownOutcome: false });

    const unleased = oneStep({ timeouts: { scheduleToCloseMs: 500 } });
    unleased.wakeAfter(500, 'a');
    expect(unleased.task('a')).toMatchObject({ status: 'TIMED_OUT', unknownOutcome: false });

    const leased = oneStep({ timeouts: { scheduleToCloseMs: 500 } }).lease('a');
    leased.wakeAfter(500, 'a');
    expect(leased.task('a')).toMatchObject({
      status: 'TIMED_OUT',
      unknownOutcome: true,
      failure: { code: 'SCHEDULE_TO_CLOSE_TIMEOUT' },
    });
  });

  it('a lost lease whose time is up as well is not handed out once more', () => {
    const run = oneStep({ timeouts: { scheduleToCloseMs: 30_000 } }).lease('a');
    run.wakeAfter(30_000, 'a');
    expect(run.task('a')).toMatchObject({ status: 'TIMED_OUT', attempt: 1 });
  });

  it('of an older attempt, a closed task or an unknown one is ignored', () => {
    const run = oneStep().lease('a');
    const { taskId } = run.task('a');
    run.wakeAfter(30_000, 'a');
    expect(run.handle({ type: 'TaskWoken', taskId, attempt: 1 })).toMatchObject({ kind: 'ignored', actions: [] });
    run.complete('a');
    expect(run.wake('a')).toMatchObject({ kind: 'ignored', actions: [] });
    expect(run.handle({ type: 'TaskWoken', taskId: 'none', attempt: 1 })).toMatchObject({ kind: 'ignored' });
  });
});
