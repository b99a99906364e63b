import { chain, definition, task } from '../testing/definitions.js';
import type { TaskOptions } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

const MINUTE_MS = 60_000;

function oneStep(options: TaskOptions = {}): FakeRun {
  return new FakeRun(definition(chain(task('a', options), task('b')))).start();
}

function attemptsOf(run: FakeRun, nodeId: string): number[] {
  return run.store.dispatches.filter((sent) => sent.nodeId === nodeId).map((sent) => sent.attempt);
}

describe('the number of an attempt (R11)', () => {
  it('rises at each dispatch, whatever ended the one before, and through an epoch', () => {
    const run = oneStep({ retry: { maxAttempts: 2 } });
    run.wakeAfter(5 * MINUTE_MS, 'a'); // 2: redispatched
    run.lease('a').release('a', false); // 3
    run.lease('a').release('a', true); // 4
    run.lease('a').defer('a', 0); // 5
    run.lease('a').defer('a', 1_000);
    run.wakeAfter(1_000, 'a'); // 6
    run.lease('a').wakeAfter(30_000, 'a'); // 7: its lease was lost
    run.lease('a').fail('a', 'BROKEN', { retryable: true });
    run.wakeAfter(1_000, 'a'); // 8
    expect(run.task('a')).toMatchObject({ attempt: 8, failures: 1, losses: 1 });
    run.lease('a').fail('a', 'BROKEN', { retryable: true });
    expect(run.state.status).toBe('FAILED');
    run.retry(); // 9
    expect(run.task('a')).toMatchObject({ generation: 2, attempt: 9, failures: 0, losses: 0 });
    expect(attemptsOf(run, 'a')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('of an undo rises through retryCompensation, whose counts start anew', () => {
    const run = new FakeRun(definition(chain(task('a', { compensate: true }), task('b')))).start();
    run.complete('a');
    run.fail('b');
    run.lease('a', 'compensate').wakeAfter(30_000, 'a', 'compensate');
    run.lease('a', 'compensate').fail('a', 'BROKEN', { kind: 'compensate' });
    expect(run.task('a', 'compensate')).toMatchObject({ attempt: 2, failures: 1, losses: 1 });
    run.retryCompensation();
    expect(run.task('a', 'compensate')).toMatchObject({ attempt: 3, failures: 0, losses: 0 });
  });

  it('is no count of failures: only failures are compared with maxAttempts and feed the backoff', () => {
    const run = oneStep({ retry: { maxAttempts: 2 } });
    for (let i = 0; i < 5; i += 1) run.wakeAfter(60 * MINUTE_MS, 'a');
    for (let i = 0; i < 5; i += 1) run.lease('a').release('a', true);
    for (let i = 0; i < 9; i += 1) run.lease('a').wakeAfter(30_000, 'a');
    expect(run.task('a')).toMatchObject({ attempt: 20, failures: 0, losses: 9 });
    run.lease('a').fail('a', 'BROKEN', { retryable: true });
    expect(run.store.tasks.get(run.task('a').taskId)?.backoffAt).toBe(run.store.now + 1_000); // the first interval
    run.wakeAfter(1_000, 'a');
    run.lease('a').fail('a', 'BROKEN', { retryable: true });
    expect(run.task('a')).toMatchObject({ status: 'FAILED', failures: 2, losses: 9 });
  });

  it('counts losses and failures apart: neither uses up what is left of the other', () => {
    const run = oneStep({ retry: { maxAttempts: 3 } });
    for (let i = 0; i < 9; i += 1) run.lease('a').wakeAfter(30_000, 'a');
    for (const interval of [1_000, 2_000]) {
      run.lease('a').fail('a', 'BROKEN', { retryable: true });
      run.wakeAfter(interval, 'a');
    }
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', failures: 2, losses: 9 });
    run.lease('a').wakeAfter(30_000, 'a');
    expect(run.task('a')).toMatchObject({ status: 'FAILED', failure: { code: 'LEASE_LOST' }, failures: 2, losses: 10 });
  });

  it('tells a lost lease from a step that took too long: LEASE_LOST and TIMEOUT', () => {
    const lost = oneStep().lease('a');
    lost.wakeAfter(30_000, 'a');
    expect(lost.task('a')).toMatchObject({ failure: { code: 'LEASE_LOST' }, failures: 0, losses: 1 });
    const slow = oneStep({ timeouts: { startToCloseMs: 20_000 } }).lease('a');
    slow.wakeAfter(20_000, 'a');
    expect(slow.task('a')).toMatchObject({ failure: { code: 'TIMEOUT' }, failures: 1, losses: 0 });
  });
});

describe('the guard against lost messages (R12)', () => {
  it('is armed for five minutes and begins there again after an attempt that was started', () => {
    const run = oneStep();
    run.wakeAfter(5 * MINUTE_MS, 'a');
    run.wakeAfter(10 * MINUTE_MS, 'a');
    expect(run.task('a')).toMatchObject({ attempt: 3, redispatches: 2, failures: 0, unknownOutcome: false });
    run.lease('a').release('a', false);
    expect(run.task('a')).toMatchObject({ attempt: 4, redispatches: 0 });
    expect(run.store.dispatches.at(-1)?.deadlines.redispatchAfterMs).toBe(5 * MINUTE_MS);
  });

  it('leaves the message that it repeats without effect: its attempt is over', () => {
    const run = oneStep();
    run.wakeAfter(5 * MINUTE_MS, 'a');
    expect(run.complete('a', '{}', { attempt: 1 })).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect(run.complete('a', '{}', { attempt: 2 })).toMatchObject({ report: 'APPLIED' });
  });
});

describe('an attempt that is given back (R13)', () => {
  it('is followed by the next at once, also after failures, and feeds no backoff', () => {
    const run = oneStep({ retry: { maxAttempts: 5 } }).lease('a');
    run.fail('a', 'BROKEN', { retryable: true });
    run.wakeAfter(1_000, 'a');
    const released = run.lease('a').release('a', true);
    expect(released).toMatchObject({ kind: 'applied', report: 'APPLIED' });
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', attempt: 3, failures: 1, losses: 0 });
    expect(run.journalKinds().slice(-2)).toEqual(['task.released', 'task.scheduled']);
  });

  it('may have had its effect, unless the worker says that it never began', () => {
    for (const started of [true, false]) {
      const run = new FakeRun(definition([task('a', { compensate: true }), task('b')])).start();
      run.lease('a').release('a', started);
      run.fail('b');
      expect(run.has('a', 'compensate')).toBe(started);
    }
  });

  it('of an undo is followed by the next at once too', () => {
    const run = new FakeRun(definition(chain(task('a', { compensate: true }), task('b')))).start();
    run.complete('a');
    run.fail('b');
    run.lease('a', 'compensate').release('a', true, 'compensate');
    expect(run.task('a', 'compensate')).toMatchObject({ status: 'SCHEDULED', attempt: 2, failures: 0 });
  });
});
