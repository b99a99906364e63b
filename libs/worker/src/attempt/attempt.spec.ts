import { workerV1 } from '@baton/contracts';
import { NonRetryableError, rawJson, retryLater } from '@baton/execution';
import { ApiError } from '@baton/wire';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskContext, TaskHandler } from '../context.js';
import { silentLogger } from '../logger.js';
import type { TaskMessage } from '../task-message.js';
import { Attempt } from './attempt.js';

const { HeartbeatStatus, ReportOutcome } = workerV1;

class FakeSession {
  readonly reports: workerV1.ReportTaskResultRequest[] = [];
  beat: workerV1.HeartbeatStatus = HeartbeatStatus.HEARTBEAT_STATUS_OK;
  refusal: Error | undefined;

  heartbeat(request: workerV1.HeartbeatRequest): Promise<workerV1.HeartbeatResponse> {
    return Promise.resolve({ status: this.beat, ttlMs: 0n, taskId: request.taskId });
  }

  report(request: workerV1.ReportTaskResultRequest): Promise<workerV1.ReportTaskResultResponse> {
    this.reports.push(request);
    if (this.refusal) return Promise.reject(this.refusal);
    const outcome = ReportOutcome.REPORT_OUTCOME_APPLIED;
    return Promise.resolve({ acknowledged: true, outcome, taskId: request.taskId });
  }
}

const task: TaskMessage = {
  runId: 'run',
  taskId: 'task',
  nodeId: 'charge',
  item: 0,
  kind: 'forward',
  generation: 1,
  attempt: 3,
  queue: 'payments',
  handler: 'payments.charge',
  definitionId: 'order',
  definitionVersion: 1,
  idempotencyKey: 'run/charge/0/forward/1',
  input: undefined,
};

function attemptOf(
  session: FakeSession,
  fields: { inputText?: string; progress?: string; ttlMs?: number } = {},
): Attempt {
  const { inputText = '{}', progress, ttlMs = 30_000 } = fields;
  const lease = { runId: 'run', taskId: 'task', attempt: 3, leaseId: 'lease', ttlMs, startToCloseMs: 0 };
  return new Attempt({
    task,
    lease: { ...lease, askedAt: performance.now() },
    inputText,
    progress,
    session,
    logger: silentLogger,
  });
}

async function outcomeOf(handler: TaskHandler | undefined): Promise<workerV1.ReportTaskResultRequest | undefined> {
  const session = new FakeSession();
  await attemptOf(session).run(handler);
  expect(session.reports.length).toBeLessThanOrEqual(1);
  return session.reports[0];
}

const outputOf = (report: workerV1.ReportTaskResultRequest | undefined) => Buffer.from(report?.output ?? []).toString();

describe('an attempt', () => {
  it('reports the result with its fences', async () => {
    const report = await outcomeOf(() => Promise.resolve({ paymentId: 'p' }));
    expect(report).toMatchObject({
      ...{ taskId: 'task', runId: 'run', nodeId: 'charge', attempt: 3, leaseId: 'lease', status: 'completed' },
    });
    expect(outputOf(report)).toBe('{"paymentId":"p"}');
  });

  it('takes the result as it is when the handler returns it (B76)', async () => {
    const shared = { n: 1 };
    const report = await outcomeOf(() => {
      queueMicrotask(() => setImmediate(() => (shared.n = 2)));
      return shared;
    });
    expect(outputOf(report)).toBe('{"n":1}');
  });

  it('hands raw JSON through in both directions', async () => {
    const session = new FakeSession();
    const inputText = '{ "n": 12345678901234567890 }';
    await attemptOf(session, { inputText }).run((context) => rawJson(context.inputText));
    expect(outputOf(session.reports[0])).toBe(inputText);
  });

  it('gives the handler everything about the step, and what the last attempt left', async () => {
    const session = new FakeSession();
    let seen: TaskContext | undefined;
    await attemptOf(session, { inputText: '{"a":[1]}', progress: '{"page":4}' }).run((context) => {
      seen = context;
    });
    expect(seen).toMatchObject({
      attempt: 3,
      kind: 'forward',
      idempotencyKey: 'run/charge/0/forward/1',
      nodeId: 'charge',
    });
    expect(seen?.input()).toEqual({ a: [1] });
    expect(seen?.input()).toBe(seen?.input());
    expect(seen?.lastProgress()).toEqual({ page: 4 });
  });

  it.each<[string, TaskHandler | undefined, Partial<workerV1.ReportTaskResultRequest>]>([
    [
      'a thrown string',
      () => {
        throw 'kaput' as unknown as Error;
      },
      { status: 'failed', error: 'kaput', errorCode: 'TASK_FAILED', nonRetryable: false },
    ],
    [
      'a failure for good',
      () => Promise.reject(new NonRetryableError('PAYMENT_DECLINED', 'no')),
      { status: 'failed', errorCode: 'PAYMENT_DECLINED', error: 'no', nonRetryable: true },
    ],
    ['a later try', () => Promise.reject(retryLater(1_500)), { status: 'deferred', retryAfterMs: 1_500n }],
    ['a result that is not JSON', () => ({ n: 1n }), { status: 'failed', errorCode: 'RESULT_NOT_JSON' }],
    ['a handler that does not exist', undefined, { status: 'failed', errorCode: 'NO_HANDLER', nonRetryable: false }],
    [
      'progress that is too large',
      (context) => context.heartbeat('x'.repeat(20_000)),
      { status: 'failed', errorCode: 'TASK_FAILED' },
    ],
  ])('reports %s', async (_what, handler, expected) => {
    expect(await outcomeOf(handler)).toMatchObject(expected);
  });

  it('whose step is no longer wanted is given back, so that its undo runs (R18)', async () => {
    const session = new FakeSession();
    session.beat = HeartbeatStatus.HEARTBEAT_STATUS_CANCELLED;
    await attemptOf(session, { ttlMs: 60 }).run((context) => sleep(10_000, undefined, { signal: context.signal }));
    expect(session.reports).toMatchObject([{ status: 'released', notStarted: false }]);
  });

  it('O5: that lost its lease says nothing, unless it has a result: that one may still be in time (R14)', async () => {
    const session = new FakeSession();
    session.beat = HeartbeatStatus.HEARTBEAT_STATUS_LOST;
    await attemptOf(session, { ttlMs: 60 }).run((context) => sleep(10_000, undefined, { signal: context.signal }));
    expect(session.reports).toEqual([]);
    await attemptOf(session, { ttlMs: 60 }).run(async (context) => {
      await sleep(10_000, undefined, { signal: context.signal }).catch(() => undefined);
      return 'done before I knew';
    });
    expect(session.reports).toMatchObject([{ status: 'completed' }]);
  });

  it('of a stopping worker is given back, also when its handler does not listen (R13)', async () => {
    const session = new FakeSession();
    const listening = attemptOf(session);
    const first = listening.run((context) => sleep(10_000, undefined, { signal: context.signal }));
    listening.abort();
    await first;
    expect(session.reports).toMatchObject([{ status: 'released', notStarted: false }]);
    const deaf = attemptOf(session);
    const second = deaf.run(() => new Promise(() => undefined));
    deaf.abort();
    deaf.giveUp();
    await second;
    expect(session.reports[1]).toMatchObject({ status: 'released', notStarted: false });
  });

  it('whose lease came too late goes back untouched', async () => {
    const session = new FakeSession();
    await attemptOf(session).returnUnstarted();
    expect(session.reports).toMatchObject([{ status: 'released', notStarted: true }]);
  });

  it('ends quietly when its report can never be delivered', async () => {
    const session = new FakeSession();
    session.refusal = new ApiError('precondition', 'RUN_STUCK', 'somebody must look');
    await expect(attemptOf(session).run(() => 1)).resolves.toBe('completed');
  });
});
