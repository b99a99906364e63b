import { EngineError } from '@baton/engine';
import { SagaError, type SagaErrorKind } from './errors.js';

const KINDS: Readonly<Record<EngineError['kind'], SagaErrorKind>> = {
  invalid: 'invalid',
  'not-found': 'not-found',
  conflict: 'conflict',
  precondition: 'conflict',
  'too-large': 'invalid',
  unavailable: 'unavailable',
  internal: 'internal',
};

/** The engine's refusals in the words of the library: same code, same findings. Anything else stays what it is. */
export function toSagaError(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const { details } = error;
  return new SagaError(KINDS[error.kind], error.code, error.message, { details, cause: error });
}

/** What the call answers, or rejects with, said by this library. */
export async function translated<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw toSagaError(error);
  }
}
