import type { GrpcErrorMapper } from '@baton/platform';
import { type ErrorShape, toGrpcError } from '@baton/wire';

/** Errors with a kind and a stable code go out as they are; anything else is a bug and stays inside. */
export const toGrpcReply: GrpcErrorMapper = (error, metadata) =>
  isErrorShape(error) ? toGrpcError(error, metadata) : undefined;

function isErrorShape(error: unknown): error is ErrorShape {
  if (typeof error !== 'object' || error === null) return false;
  const { kind, code, message, details } = error as Partial<ErrorShape>;
  return typeof kind === 'string' && typeof code === 'string' && typeof message === 'string' && Array.isArray(details);
}
