import { SagaError, type SagaErrorKind } from '../journal/errors.js';

/** Single statements, for what is asked rarely. */
export interface Sql {
  /** Rejects with a SagaError. */
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** What went wrong in the database, told by its class alone: its text may hold values of rows. */
export function fault(error: unknown): SagaError {
  if (error instanceof SagaError) return error;
  const state = Reflect.get(Object(error) as object, 'code') as unknown;
  const [kind, code, message] = faultOfState(typeof state === 'string' ? state : '');
  return new SagaError(kind, code, message, { cause: error });
}

function faultOfState(state: string): readonly [SagaErrorKind, string, string] {
  if (state === '42501') return ['unavailable', 'DATABASE_DENIED', 'the database role may not do this'];
  if (state === '42P01') return ['internal', 'SCHEMA_DRIFT', 'a table is missing'];
  if (state === '42703') return ['internal', 'SCHEMA_DRIFT', 'a column is missing'];
  if (state === '3F000') return ['internal', 'SCHEMA_DRIFT', 'the schema is missing'];
  return ['unavailable', 'DATABASE_UNAVAILABLE', `the database did not answer as it should (${state || 'no code'})`];
}
