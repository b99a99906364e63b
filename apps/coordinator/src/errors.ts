import type { Metadata } from '@grpc/grpc-js';
import { EngineError } from '@baton/engine';
import { AuthError, type GrpcErrorReply } from '@baton/platform';
import { ApiError, grpcStatusOf, toGrpcError, type ErrorShape } from '@baton/wire';
import type { workerV1 } from '@baton/contracts';

/** What callers may know about an error. undefined = nothing: a bug of ours, which the log describes. */
export function describeError(error: unknown): ErrorShape | undefined {
  if (error instanceof EngineError || error instanceof ApiError) return error;
  if (error instanceof AuthError) return { kind: error.kind, code: error.code, message: error.message, details: [] };
  return undefined;
}

export function toGrpcReply(error: unknown, metadata: Metadata): GrpcErrorReply | undefined {
  const shape = describeError(error);
  return shape && toGrpcError(shape, metadata);
}

/**
 * One call of a session that could not be answered. Not now (database away) and bugs of ours are worth another try;
 * what the caller sent does not become right by repetition.
 */
export function toSessionError(error: unknown): workerV1.SessionError {
  const shape = describeError(error) ?? UNKNOWN;
  const retryable = shape.kind === 'unavailable' || shape.kind === 'internal';
  return { code: grpcStatusOf(shape.kind), message: `${shape.code}: ${shape.message}`, retryable };
}

const UNKNOWN: ErrorShape = { kind: 'internal', code: 'INTERNAL', message: 'internal error', details: [] };
