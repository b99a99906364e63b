import { workerV1 } from '@baton/contracts';
import { ApiError } from './errors.js';
import {
  acquireFromProto,
  acquireResultFromProto,
  acquireResultToProto,
  heartbeatFromProto,
  isRejectedReport,
  reportFromProto,
} from './worker-messages.js';

const taskId = '01920000-0000-7000-8000-000000000001';
const runId = '01920000-0000-7000-8000-000000000002';
const leaseId = '01920000-0000-7000-8000-000000000003';

function codes(act: () => unknown): string[] {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return error.details.map((detail) => `${detail.pointer} ${detail.code}`);
    throw error;
  }
  return [];
}

describe('a report', () => {
  const report = (fields: Partial<workerV1.ReportTaskResultRequest>) =>
    reportFromProto(
      'default',
      workerV1.ReportTaskResultRequest.fromPartial({ taskId, runId, nodeId: 'ship', status: 'completed', ...fields }),
    );

  it('keeps the bytes of the output', () => {
    const text = '{"n":12345678901234567890,"a": [ ],"ü":"\\u0041"}';
    expect(report({ output: Buffer.from(text) }).output).toBe(text);
  });

  it('without an output completed with null', () => {
    expect(report({}).output).toBe('null');
  });

  it('takes run and node from the legacy metadata', () => {
    const legacy = report({ runId: '', nodeId: '', metadata: { run_id: runId, node_id: 'ship' } });
    expect(legacy).toMatchObject({ runId, nodeId: 'ship', attempt: 0 });
  });

  it('names everything that is missing or wrong at once', () => {
    expect(
      codes(() => report({ taskId: '', runId: 'x', nodeId: '', status: 'done', attempt: -1, retryAfterMs: -1n })),
    ).toEqual([
      '/task_id REQUIRED',
      '/run_id NOT_A_UUID',
      '/node_id REQUIRED',
      '/attempt NEGATIVE',
      '/retry_after_ms NEGATIVE',
      '/status UNKNOWN_STATUS',
    ]);
  });

  it('whose output is not UTF-8 becomes a failure that is not retried (R8)', () => {
    const rejected = report({ output: Uint8Array.of(0x22, 0xff, 0x22), leaseId, attempt: 3 });
    expect(rejected).toMatchObject({ status: 'failed', retryable: false, attempt: 3, leaseId });
    expect(isRejectedReport(rejected)).toBe(true);
  });

  it('of a failure always has a code and a text that the database can hold', () => {
    expect(report({ status: 'failed' }).failure).toEqual({
      code: 'TASK_FAILED',
      message: 'task execution failed',
      nodeId: 'ship',
    });
    const failed = report({ status: 'failed', error: `a\0b\ud800${'x'.repeat(20_000)}`, errorCode: 'C\0' });
    expect(failed.failure?.message.startsWith('a\uFFFDb\uFFFDx')).toBe(true);
    expect(failed.failure?.message).toHaveLength(8192);
    expect(failed.failure?.code).toBe('C\uFFFD');
    expect(report({ status: 'failed', nonRetryable: true }).retryable).toBe(false);
  });

  it('may give the attempt back or ask for a later try', () => {
    expect(report({ status: 'released', notStarted: true })).toMatchObject({ status: 'released', notStarted: true });
    expect(report({ status: 'deferred', retryAfterMs: 5n })).toMatchObject({ status: 'deferred', retryAfterMs: 5 });
  });
});

describe('an acquire', () => {
  const acquire = (fields: Partial<workerV1.AcquireTaskLeaseRequest>) =>
    acquireFromProto(
      'default',
      workerV1.AcquireTaskLeaseRequest.fromPartial({ taskId, runId, owner: 'w1', ...fields }),
      () => 'made',
    );

  it('as older workers send it has no attempt and gets an id of its own', () => {
    expect(acquire({ ttlSeconds: 30n })).toEqual({
      namespace: 'default',
      taskId,
      runId,
      owner: 'w1',
      callId: 'made',
      ttlMs: 30_000,
      wantInput: false,
    });
  });

  it('refuses negative and overlong times to live', () => {
    expect(codes(() => acquire({ ttlSeconds: -1n, attempt: -1 }))).toEqual([
      '/ttl_seconds NEGATIVE',
      '/attempt NEGATIVE',
    ]);
    expect(codes(() => acquire({ ttlSeconds: 2n ** 40n }))).toEqual(['/ttl_seconds TOO_LARGE']);
  });

  it('is answered with all that the worker needs', () => {
    const result = {
      status: 'GRANTED',
      leaseId,
      ttlMs: 30_000,
      attempt: 2,
      startToCloseMs: 60_000,
      input: '{}',
    } as const;
    expect(acquireResultFromProto(acquireResultToProto(taskId, result))).toEqual(result);
  });

  it('an answer of a newer coordinator that we do not know keeps the message', () => {
    const response = { ...acquireResultToProto(taskId, { status: 'STALE' }), status: 99 as workerV1.AcquireStatus };
    expect(acquireResultFromProto(response).status).toBe('RETRY');
  });
});

describe('a heartbeat', () => {
  it('must name the attempt and the lease, and bounds its progress', () => {
    const request = workerV1.HeartbeatRequest.fromPartial({ taskId, runId, progress: 'é'.repeat(10_000) });
    expect(codes(() => heartbeatFromProto('default', request))).toEqual([
      '/lease_id REQUIRED',
      '/attempt REQUIRED',
      '/progress TOO_LARGE',
    ]);
  });
});
