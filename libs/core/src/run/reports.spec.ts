import { chain, definition, task } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';

function twoSteps(retry: { maxAttempts?: number; nonRetryable?: string[]; initialIntervalMs?: number } = {}): FakeRun {
  return new FakeRun(definition(chain(task('a', { retry }), task('b')))).start().lease('a');
}

describe("a worker's report (R14)", () => {
  it('B21: the same content again is a duplicate, other content a conflict, and nothing changes', () => {
    const run = twoSteps();
    expect(run.complete('a', '{"v":1}').kind).toBe('applied');
    const after = run.state;
    expect(run.complete('a', '{"v":1}')).toMatchObject({ kind: 'ignored', report: 'DUPLICATE', actions: [] });
    expect(run.complete('a', '{"v":2}')).toMatchObject({ kind: 'ignored', report: 'CONFLICT', actions: [] });
    expect(run.fail('a')).toMatchObject({ kind: 'ignored', report: 'CONFLICT', actions: [] });
    expect(run.state).toBe(after);
    expect(run.outputOf('a')).toBe('{"v":1}');
  });

  it('B21: a duplicate of a failure that is in backoff is a duplicate too', () => {
    const run = twoSteps();
    run.fail('a', 'BROKEN', { retryable: true });
    expect(run.fail('a', 'BROKEN', { retryable: true })).toMatchObject({ report: 'DUPLICATE' });
    expect(run.complete('a')).toMatchObject({ report: 'CONFLICT' });
    expect(run.task('a').failures).toBe(1);
  });

  it('B20: a late result of an attempt that another one followed is stale', () => {
    const run = twoSteps();
    run.wakeAfter(30_000, 'a');
    expect(run.task('a').attempt).toBe(2);
    expect(run.complete('a', '{"v":1}', { attempt: 1 })).toMatchObject({ kind: 'ignored', report: 'STALE' });
    run.lease('a').complete('a', '{"v":2}');
    expect(run.outputOf('a')).toBe('{"v":2}');
    expect(run.store.dispatches.filter((sent) => sent.nodeId === 'b')).toHaveLength(1);
  });

  it('is accepted after the lease ran out, as long as nobody has decided that it did', () => {
    const run = twoSteps();
    run.store.now += 31_000;
    expect(run.complete('a')).toMatchObject({ kind: 'applied', report: 'APPLIED' });
    expect(run.wake('a')).toMatchObject({ kind: 'ignored' });
  });

  it('without an attempt (0) is for the current one: older workers send none', () => {
    const run = twoSteps();
    expect(run.complete('a', '{}', { attempt: 0 })).toMatchObject({ report: 'APPLIED' });
    expect(run.complete('a', '{}', { attempt: 0 })).toMatchObject({ report: 'DUPLICATE' });
  });

  it('for an attempt that was never handed out is stale', () => {
    expect(twoSteps().complete('a', '{}', { attempt: 7 })).toMatchObject({ kind: 'ignored', report: 'STALE' });
  });

  it('for an unknown task, or a task of another node, is not found', () => {
    const run = twoSteps();
    const report = { type: 'NodeCompleted', attempt: 1, output: '{}', reportHash: 'h' } as const;
    expect(run.handle({ ...report, taskId: 'no such', nodeId: 'a' })).toMatchObject({ report: 'NOT_FOUND' });
    const { taskId } = run.task('a');
    expect(run.handle({ ...report, taskId, nodeId: 'b' })).toMatchObject({ report: 'NOT_FOUND' });
  });

  it('after the end of the run changes nothing', () => {
    const run = twoSteps();
    run.complete('a');
    run.lease('b').complete('b');
    expect(run.complete('a')).toMatchObject({ kind: 'ignored', report: 'DUPLICATE', actions: [] });
    expect(run.complete('a', '{"other":1}')).toMatchObject({ report: 'CONFLICT' });
  });

  it('of an older epoch is stale: the rows of both are kept', () => {
    const run = twoSteps();
    const old = run.task('a');
    run.cancel();
    run.retry();
    const report = { type: 'NodeCompleted', taskId: old.taskId, nodeId: 'a', attempt: 1, output: '{}' } as const;
    expect(run.handle({ ...report, reportHash: 'late' })).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect(run.task('a')).toMatchObject({ generation: 2, status: 'SCHEDULED', attempt: 2 });
  });
});

describe('a failed attempt', () => {
  it('is tried again after an exponential backoff, until the policy says no more', () => {
    const run = twoSteps({ maxAttempts: 3 });
    run.fail('a', 'BROKEN', { retryable: true });
    expect(run.task('a')).toMatchObject({ status: 'BACKOFF', failures: 1, attempt: 1 });
    expect(run.wake('a')).toMatchObject({ kind: 'ignored', actions: [{ type: 'WakeTask' }] });
    run.wakeAfter(1_000, 'a');
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', attempt: 2 });
    run.lease('a').fail('a', 'BROKEN', { retryable: true });
    run.wakeAfter(1_999, 'a');
    expect(run.status('a')).toBe('BACKOFF');
    run.wakeAfter(1, 'a');
    run.lease('a').fail('a', 'BROKEN', { retryable: true });
    expect(run.task('a')).toMatchObject({ status: 'FAILED', failures: 3, failure: { code: 'BROKEN', nodeId: 'a' } });
    expect(run.state).toMatchObject({ status: 'FAILED', failure: { code: 'BROKEN', nodeId: 'a' } });
  });

  it('goes out again in the same decision when the backoff is nothing', () => {
    const run = twoSteps({ initialIntervalMs: 0 });
    run.fail('a', 'BROKEN', { retryable: true });
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', attempt: 2, failures: 1 });
    expect(run.fail('a', 'BROKEN', { attempt: 1 })).toMatchObject({ report: 'STALE' });
  });

  it('B43: is final when the worker or the policy says so', () => {
    const byWorker = twoSteps();
    byWorker.fail('a', 'OUT_OF_STOCK', { retryable: false });
    expect(byWorker.status('a')).toBe('FAILED');
    const byPolicy = twoSteps({ nonRetryable: ['OUT_OF_STOCK'] });
    byPolicy.fail('a', 'OUT_OF_STOCK', { retryable: true });
    expect(byPolicy.status('a')).toBe('FAILED');
  });

  it('B27, R11: retryLater burns no attempts, however often it comes', () => {
    const run = twoSteps({ maxAttempts: 3 });
    for (let i = 0; i < 500; i += 1) {
      run.defer('a', 1_000);
      run.wakeAfter(1_000, 'a');
    }
    expect(run.task('a')).toMatchObject({ attempt: 501, failures: 0 });
    run.fail('a', 'BROKEN', { retryable: true });
    expect(run.store.tasks.get(run.task('a').taskId)?.backoffAt).toBe(run.store.now + 1_000); // the first interval
    run.wakeAfter(1_000, 'a');
    run.fail('a', 'BROKEN', { retryable: true });
    run.wakeAfter(2_000, 'a');
    run.complete('a');
    expect(run.task('a')).toMatchObject({ status: 'SUCCEEDED', failures: 2, attempt: 503 });
  });

  it('R13: a released attempt goes out again at once and is no failure', () => {
    const run = twoSteps();
    expect(run.release('a', false)).toMatchObject({ report: 'APPLIED' });
    expect(run.task('a')).toMatchObject({ status: 'SCHEDULED', attempt: 2, failures: 0, unknownOutcome: false });
    run.release('a', true);
    expect(run.task('a')).toMatchObject({ attempt: 3, unknownOutcome: true });
  });

  it('B67: is never refused for the text of its failure', () => {
    const run = twoSteps();
    const { taskId } = run.task('a');
    const failure = { code: '', message: `a\u0000b\ud800${'x'.repeat(1_000_000)}` };
    const report = { type: 'NodeFailed', taskId, nodeId: 'a', attempt: 1, retryable: false } as const;
    run.handle({ ...report, failure, reportHash: 'h' });
    expect(run.task('a').failure).toMatchObject({
      code: 'TASK_FAILED',
      message: expect.stringMatching(/^a\ufffdb\ufffdx{3996}$/),
    });
  });

  it('B24: after a cancel is not tried again', () => {
    const run = twoSteps();
    run.cancel();
    expect(run.fail('a', 'BROKEN', { retryable: true })).toMatchObject({ kind: 'ignored', report: 'STALE' });
    expect(run.task('a')).toMatchObject({ status: 'CANCELLED', attempt: 1 });
  });
});
