import type { workerV1 } from '@baton/contracts';
import {
  MAX_FAILURE_CODE_CHARS,
  MAX_FAILURE_MESSAGE_CHARS,
  MAX_PROGRESS_BYTES,
  storable,
  type Failure,
  type JsonText,
  type ReportOutcome,
} from '@baton/core';
import { acquireStatus, heartbeatStatus, reportOutcome, type AcquireStatus, type HeartbeatStatus } from './enums.js';
import { Problems } from './problems.js';

/** What the coordinator makes of a worker's calls, and back. The shapes are those of the engine's API. */

export interface AcquireCall {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
  readonly attempt?: number;
  readonly owner: string;
  readonly callId: string;
  readonly ttlMs: number;
  readonly wantInput: boolean;
}

export interface AcquireResult {
  readonly status: AcquireStatus;
  readonly leaseId?: string;
  readonly ttlMs?: number;
  readonly attempt?: number;
  readonly startToCloseMs?: number;
  readonly input?: JsonText;
  readonly progress?: JsonText;
}

export interface HeartbeatRenewal {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly leaseId: string;
  readonly ttlMs: number;
  readonly progress?: JsonText;
}

export interface HeartbeatResult {
  readonly status: HeartbeatStatus;
  readonly ttlMs?: number;
}

export type ReportStatus = 'completed' | 'failed' | 'released' | 'deferred';

export interface ReportedResult {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly leaseId?: string;
  readonly status: ReportStatus;
  readonly output?: JsonText;
  readonly failure?: Failure;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  readonly notStarted?: boolean;
}

const MAX_OWNER_CHARS = 200;
const MAX_ID_CHARS = 200;

/** `fallbackCallId` serves callers that send none (older workers): each of their calls is a call of its own. */
export function acquireFromProto(
  namespace: string,
  request: workerV1.AcquireTaskLeaseRequest,
  fallbackCallId: () => string,
): AcquireCall {
  const problems = new Problems();
  const call = {
    namespace,
    taskId: problems.uuid('/task_id', request.taskId),
    runId: problems.uuid('/run_id', request.runId),
    owner: problems.requiredText('/owner', request.owner, MAX_OWNER_CHARS),
    callId: problems.text('/call_id', request.callId, MAX_ID_CHARS),
    ttlMs: problems.seconds('/ttl_seconds', request.ttlSeconds),
    attempt: problems.count('/attempt', request.attempt),
    wantInput: request.wantInput,
  };
  problems.throwIfAny();
  const { attempt, callId, ...rest } = call;
  return { ...rest, callId: callId === '' ? fallbackCallId() : callId, ...(attempt > 0 && { attempt }) };
}

export function acquireResultToProto(taskId: string, result: AcquireResult): workerV1.AcquireTaskLeaseResponse {
  return {
    status: acquireStatus.toProto(result.status),
    leaseId: result.leaseId ?? '',
    ttlMs: BigInt(result.ttlMs ?? 0),
    attempt: result.attempt ?? 0,
    input: result.input,
    progress: result.progress,
    taskId,
    startToCloseMs: BigInt(result.startToCloseMs ?? 0),
  };
}

/** A status that we do not know is RETRY: the message stays. */
export function acquireResultFromProto(response: workerV1.AcquireTaskLeaseResponse): AcquireResult {
  return {
    status: acquireStatus.fromProto(response.status) ?? 'RETRY',
    ...(response.leaseId !== '' && { leaseId: response.leaseId }),
    ttlMs: Number(response.ttlMs),
    attempt: response.attempt,
    startToCloseMs: Number(response.startToCloseMs),
    ...(response.input !== undefined && { input: response.input }),
    ...(response.progress !== undefined && { progress: response.progress }),
  };
}

export function heartbeatFromProto(namespace: string, request: workerV1.HeartbeatRequest): HeartbeatRenewal {
  const problems = new Problems();
  const renewal = {
    namespace,
    taskId: problems.uuid('/task_id', request.taskId),
    runId: problems.uuid('/run_id', request.runId),
    attempt: problems.count('/attempt', request.attempt),
    leaseId: problems.uuid('/lease_id', request.leaseId),
    ttlMs: problems.seconds('/ttl_seconds', request.ttlSeconds),
  };
  if (request.attempt === 0) problems.add('/attempt', 'REQUIRED', 'attempt is required');
  const { progress } = request;
  if (progress !== undefined) {
    problems.text('/progress', progress, MAX_PROGRESS_BYTES);
    if (Buffer.byteLength(progress) > MAX_PROGRESS_BYTES) {
      problems.add('/progress', 'TOO_LARGE', `progress must have at most ${MAX_PROGRESS_BYTES} bytes`);
    }
  }
  problems.throwIfAny();
  return { ...renewal, ...(progress !== undefined && { progress }) };
}

export function heartbeatResultToProto(taskId: string, result: HeartbeatResult): workerV1.HeartbeatResponse {
  return { status: heartbeatStatus.toProto(result.status), ttlMs: BigInt(result.ttlMs ?? 0), taskId };
}

export function heartbeatResultFromProto(response: workerV1.HeartbeatResponse): HeartbeatResult {
  return { status: heartbeatStatus.fromProto(response.status) ?? 'RETRY', ttlMs: Number(response.ttlMs) };
}

const reportStatuses: ReadonlySet<string> = new Set<ReportStatus>(['completed', 'failed', 'released', 'deferred']);

/**
 * Throws ApiError('invalid') when the report names nothing that could be answered for: missing ids, a status that
 * does not exist, a negative attempt. Content that cannot be stored is the report's own fault and is not refused:
 * it becomes a failure with REPORT_REJECTED, so that no worker sends it for ever (R8).
 */
export function reportFromProto(namespace: string, request: workerV1.ReportTaskResultRequest): ReportedResult {
  const problems = new Problems();
  const base = {
    namespace,
    taskId: problems.uuid('/task_id', request.taskId),
    runId: problems.uuid('/run_id', request.runId || (request.metadata['run_id'] ?? '')),
    nodeId: problems.requiredText('/node_id', request.nodeId || (request.metadata['node_id'] ?? ''), MAX_ID_CHARS),
    attempt: problems.count('/attempt', request.attempt),
    ...(request.leaseId !== '' && { leaseId: problems.uuid('/lease_id', request.leaseId) }),
  };
  const retryAfterMs = problems.integer('/retry_after_ms', request.retryAfterMs);
  if (!reportStatuses.has(request.status)) {
    problems.add('/status', 'UNKNOWN_STATUS', "status must be 'completed', 'failed', 'released' or 'deferred'");
  }
  problems.throwIfAny();
  switch (request.status as ReportStatus) {
    case 'completed': {
      const output = decodeOutput(request.output);
      return output === undefined
        ? rejectedReport(base, 'the output is not valid UTF-8')
        : { ...base, status: 'completed', output };
    }
    case 'failed':
      return {
        ...base,
        status: 'failed',
        failure: reportedFailure(request, base.nodeId),
        retryable: !request.nonRetryable,
      };
    case 'released':
      return { ...base, status: 'released', notStarted: request.notStarted };
    case 'deferred':
      return { ...base, status: 'deferred', retryAfterMs };
  }
}

export const REPORT_REJECTED = 'REPORT_REJECTED';

type ReportBase = Pick<ReportedResult, 'namespace' | 'runId' | 'taskId' | 'nodeId' | 'attempt' | 'leaseId'>;

/** The failure that takes the place of a report whose content cannot be stored (R8). */
export function rejectedReport(report: ReportBase, reason: string): ReportedResult {
  const { namespace, runId, taskId, nodeId, attempt, leaseId } = report;
  return {
    namespace,
    runId,
    taskId,
    nodeId,
    attempt,
    ...(leaseId !== undefined && { leaseId }),
    status: 'failed',
    failure: { code: REPORT_REJECTED, message: reason, nodeId },
    retryable: false,
  };
}

export function isRejectedReport(report: ReportedResult): boolean {
  return report.failure?.code === REPORT_REJECTED;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Empty = null. undefined = not UTF-8. */
function decodeOutput(bytes: Uint8Array): JsonText | undefined {
  if (bytes.length === 0) return 'null';
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Text for people: what the database cannot hold is replaced, what is too long is cut. */
function reportedFailure(request: workerV1.ReportTaskResultRequest, nodeId: string): Failure {
  return {
    code: storable(request.errorCode, MAX_FAILURE_CODE_CHARS) || 'TASK_FAILED',
    message: storable(request.error, MAX_FAILURE_MESSAGE_CHARS) || 'task execution failed',
    nodeId,
  };
}

export function reportAnswerToProto(taskId: string, outcome: ReportOutcome): workerV1.ReportTaskResultResponse {
  return { acknowledged: true, outcome: reportOutcome.toProto(outcome), taskId };
}
