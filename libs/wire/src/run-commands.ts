import type { runV1 } from '@baton/contracts';
import type { JsonText, RunStatus } from '@baton/core';
import { runStatus } from './enums.js';
import { Problems } from './problems.js';

/** Commands and questions of RunService, checked for shape. What only the engine can know, the engine says. */

const MAX_KEY_CHARS = 255;
const MAX_NODE_CHARS = 64;
const MAX_REASON_CHARS = 1_000;
const MAX_WAIT_MS = 60_000;

export interface StartCommand {
  readonly namespace: string;
  readonly definitionId: string;
  readonly definitionVersion?: number;
  readonly input: JsonText | null;
  readonly runId?: string;
  readonly idempotencyKey?: string;
  readonly businessKey?: string;
  readonly startNodeId?: string;
  readonly startedAtMs?: number;
  readonly traceparent?: string;
}

export function startFromProto(namespace: string, request: runV1.StartRunRequest): StartCommand {
  const problems = new Problems();
  const definitionId = problems.definitionId('/definition_id', request.definitionId);
  const definitionVersion = problems.count('/definition_version', request.definitionVersion);
  const runId = request.runId === '' ? '' : problems.uuid('/run_id', request.runId);
  const idempotencyKey = problems.text('/idempotency_key', request.idempotencyKey, MAX_KEY_CHARS);
  const businessKey = problems.text('/business_key', request.businessKey, MAX_KEY_CHARS);
  const startNodeId = problems.text('/start_node_id', request.startNodeId, MAX_NODE_CHARS);
  const startedAtMs = problems.integer('/started_at_unix_ms', request.startedAtUnixMs, MAX_INSTANT_MS);
  const traceparent = TRACEPARENT.test(request.traceparent) ? request.traceparent : '';
  problems.throwIfAny();
  return {
    namespace,
    definitionId,
    input: request.input ?? null,
    ...(definitionVersion > 0 && { definitionVersion }),
    ...(runId !== '' && { runId }),
    ...(idempotencyKey !== '' && { idempotencyKey }),
    ...(businessKey !== '' && { businessKey }),
    ...(startNodeId !== '' && { startNodeId }),
    ...(startedAtMs > 0 && { startedAtMs }),
    ...(traceparent !== '' && { traceparent }),
  };
}

/** A trace header that is not one is left out, never a reason to refuse work. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** The last millisecond that a Date can hold. */
const MAX_INSTANT_MS = 8_640_000_000_000_000;

export interface ListQuery {
  readonly namespace: string;
  readonly definitionId?: string;
  readonly definitionVersion?: number;
  readonly statuses?: readonly RunStatus[];
  readonly businessKey?: string;
  readonly pageSize: number;
  readonly cursor?: string;
}

export function listFromProto(namespace: string, request: runV1.ListRunsRequest): ListQuery {
  const problems = new Problems();
  const definitionVersion = problems.count('/definition_version', request.definitionVersion);
  const pageSize = pageSizeOf(problems, request.pageSize, { max: 100, standard: 50 });
  const definitionId = problems.text('/definition_id', request.definitionId, 63);
  const businessKey = problems.text('/business_key', request.businessKey, MAX_KEY_CHARS);
  const cursor = problems.text('/cursor', request.cursor, 1_000);
  const statuses: RunStatus[] = [];
  request.statuses.forEach((value, index) => {
    const status = runStatus.fromProto(value);
    if (status) statuses.push(status);
    else problems.add(`/statuses/${index}`, 'UNKNOWN_STATUS', 'no such run status');
  });
  problems.throwIfAny();
  return {
    namespace,
    pageSize,
    ...(definitionId !== '' && { definitionId }),
    ...(definitionVersion > 0 && { definitionVersion }),
    ...(statuses.length > 0 && { statuses }),
    ...(businessKey !== '' && { businessKey }),
    ...(cursor !== '' && { cursor }),
  };
}

export interface SignalCommand {
  readonly namespace: string;
  readonly runId: string;
  readonly name: string;
  readonly payload: JsonText;
  readonly signalId: string;
  readonly expiresInMs?: number;
}

/** `newId`: a signal without an id gets one here, so that a lost commit can be told from a lost call (R6). */
export function signalFromProto(
  namespace: string,
  request: runV1.SignalRunRequest,
  newId: () => string,
): SignalCommand {
  const problems = new Problems();
  const runId = problems.uuid('/run_id', request.runId);
  const name = problems.requiredText('/name', request.name, 200);
  const signalId = problems.text('/signal_id', request.signalId, MAX_KEY_CHARS);
  const expiresInMs = problems.integer('/expires_in_ms', request.expiresInMs, MAX_INSTANT_MS);
  problems.throwIfAny();
  return {
    namespace,
    runId,
    name,
    payload: request.payload ?? 'null',
    signalId: signalId === '' ? newId() : signalId,
    ...(expiresInMs > 0 && { expiresInMs }),
  };
}

export interface RetryCommand {
  readonly namespace: string;
  readonly runId: string;
  readonly requestId: string;
  readonly fromNodeId?: string;
  readonly definitionVersion?: number | 'deployed';
  readonly input?: JsonText;
}

export function retryFromProto(namespace: string, request: runV1.RetryRunRequest, newId: () => string): RetryCommand {
  const problems = new Problems();
  const runId = problems.uuid('/run_id', request.runId);
  const fromNodeId = problems.text('/from_node_id', request.fromNodeId, MAX_NODE_CHARS);
  const requestId = problems.text('/request_id', request.requestId, MAX_KEY_CHARS);
  const version = request.definitionVersion;
  if (version < -1) {
    problems.add(
      '/definition_version',
      'NEGATIVE',
      'definition_version must be a version, 0 (pinned) or -1 (deployed)',
    );
  }
  problems.throwIfAny();
  return {
    namespace,
    runId,
    requestId: requestId === '' ? newId() : requestId,
    ...(fromNodeId !== '' && { fromNodeId }),
    ...(version !== 0 && { definitionVersion: version === -1 ? ('deployed' as const) : version }),
    ...(request.input !== undefined && { input: request.input }),
  };
}

export interface RunCommandRef {
  readonly namespace: string;
  readonly runId: string;
  readonly requestId: string;
}

export function retryCompensationFromProto(
  namespace: string,
  request: runV1.RetryCompensationRequest,
  newId: () => string,
): RunCommandRef {
  const problems = new Problems();
  const runId = problems.uuid('/run_id', request.runId);
  const requestId = problems.text('/request_id', request.requestId, MAX_KEY_CHARS);
  problems.throwIfAny();
  return { namespace, runId, requestId: requestId === '' ? newId() : requestId };
}

export function cancelFromProto(
  namespace: string,
  request: runV1.CancelRunRequest,
  newId: () => string,
): RunCommandRef & { readonly reason: string } {
  const problems = new Problems();
  const runId = problems.uuid('/run_id', request.runId);
  const requestId = problems.text('/request_id', request.requestId, MAX_KEY_CHARS);
  const reason = problems.text('/reason', request.reason, MAX_REASON_CHARS);
  problems.throwIfAny();
  return { namespace, runId, requestId: requestId === '' ? newId() : requestId, reason };
}

export function runIdFromProto(request: { readonly runId: string }): string {
  const problems = new Problems();
  const runId = problems.uuid('/run_id', request.runId);
  problems.throwIfAny();
  return runId;
}

export function resultQueryFromProto(request: runV1.GetRunResultRequest): { runId: string; waitMs: number } {
  const problems = new Problems();
  const runId = problems.uuid('/run_id', request.runId);
  const waitMs = problems.integer('/wait_ms', request.waitMs, MAX_WAIT_MS);
  problems.throwIfAny();
  return { runId, waitMs };
}

export function historyQueryFromProto(request: runV1.GetHistoryRequest): {
  runId: string;
  afterSeq: number;
  limit: number;
} {
  const problems = new Problems();
  const runId = problems.uuid('/run_id', request.runId);
  const afterSeq = problems.integer('/after_seq', request.afterSeq);
  const limit = pageSizeOf(problems, request.pageSize, { max: 1000, standard: 200 });
  problems.throwIfAny();
  return { runId, afterSeq, limit };
}

function pageSizeOf(problems: Problems, asked: number, bounds: { max: number; standard: number }): number {
  if (asked < 0 || asked > bounds.max) {
    problems.add('/page_size', 'OUT_OF_RANGE', `page_size must be between 1 and ${bounds.max}`);
  }
  return asked === 0 ? bounds.standard : asked;
}
