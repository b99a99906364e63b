import { FenceMissError, StoreError } from '@baton/engine';

/** A value that the column's type cannot hold, found before it was sent. */
export class InvalidValueError extends Error {
  readonly code = '22P02';

  constructor(message: string) {
    super(message);
    this.name = 'InvalidValueError';
  }
}

/**
 * What a lost connection means for what was under way:
 * read: nothing was to be written. write: an autocommitted write, or a COMMIT: it may have taken place (R6).
 * transaction: before COMMIT, so nothing of it stays.
 */
export type Doing = 'read' | 'write' | 'transaction';

interface DatabaseError {
  readonly message: string;
  readonly code?: string;
  readonly detail?: string;
  readonly severity?: string;
}

const FENCE_MISS = 'BT001';

/** R5, R8: only these classes can condemn what a caller sent: bad data, constraints, limits. */
const DATA_CLASSES = new Set(['22', '23', '54']);

/** R5: repeat the batch. Serialization failure, deadlock, lock timeout, and the ways a server says goodbye. */
const TRANSIENT_CODES = new Set(['40001', '40P01', '55P03', '57P01', '57P02', '57P03', '25P03']);

const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** node-postgres on a connection that it knows to be dead: it sent nothing. */
const NOT_QUERYABLE = /not queryable/i;

/** With a digit: EPIPE has five letters too. */
const SQL_STATE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** Every error of the database leaves the store as one of these. */
export function toStoreError(error: unknown, doing: Doing): Error {
  if (error instanceof StoreError || error instanceof FenceMissError) return error;
  const raised = asDatabaseError(error);
  const sqlState = raised.code !== undefined && SQL_STATE.test(raised.code) ? raised.code : undefined;
  if (sqlState === FENCE_MISS) return new FenceMissError((raised.detail ?? '').split(',').filter((id) => id !== ''));
  if (sqlState !== undefined) return storeError(kindOfState(sqlState, doing), raised, error, sqlState);
  if (raised.code !== undefined && NOT_SENT.has(raised.code)) return storeError('unavailable', raised, error);
  if (NOT_QUERYABLE.test(raised.message)) return storeError('transient', raised, error);
  if (!isConnectionLoss(raised)) return storeError('unavailable', raised, error);
  return storeError(doing === 'write' ? 'unknown-commit' : 'transient', raised, error);
}

/** The connection itself is of no more use: it must not go back to the pool (B116). */
export function breaksConnection(error: unknown): boolean {
  const raised = asDatabaseError(error);
  if (raised.severity === 'FATAL' || raised.severity === 'PANIC') return true;
  if (raised.code !== undefined && SQL_STATE.test(raised.code)) return raised.code.startsWith('08');
  return !(error instanceof InvalidValueError) && !(error instanceof StoreError) && !(error instanceof FenceMissError);
}

/** Never got a connection, so nothing was sent: at worst the same call may be made again. */
export function toConnectError(error: unknown): StoreError {
  const raised = asDatabaseError(error);
  const sqlState = raised.code !== undefined && SQL_STATE.test(raised.code) ? raised.code : undefined;
  const kind = sqlState !== undefined && TRANSIENT_CODES.has(sqlState) ? 'transient' : 'unavailable';
  return storeError(kind, raised, error, sqlState);
}

function kindOfState(sqlState: string, doing: Doing): StoreError['kind'] {
  if (DATA_CLASSES.has(sqlState.slice(0, 2))) return 'data';
  if (TRANSIENT_CODES.has(sqlState)) return 'transient';
  if (sqlState.startsWith('08')) return doing === 'write' ? 'unknown-commit' : 'transient';
  return 'unavailable';
}

/** What node-postgres and the socket say when the other side has gone, or has been silent for too long. */
function isConnectionLoss(raised: DatabaseError): boolean {
  return (
    raised.code === 'ECONNRESET' ||
    raised.code === 'EPIPE' ||
    raised.code === 'ETIMEDOUT' ||
    /connection terminated|connection ended|query read timeout/i.test(raised.message)
  );
}

function storeError(kind: StoreError['kind'], raised: DatabaseError, cause: unknown, sqlState?: string): StoreError {
  return new StoreError(kind, raised.message, sqlState, { cause });
}

/** By its shape: an error of the socket may come from another realm, where `Error` is another class. */
function asDatabaseError(error: unknown): DatabaseError {
  if (typeof error !== 'object' || error === null) return { message: String(error) };
  const { message, code, detail, severity } = error as Partial<Record<keyof DatabaseError, unknown>>;
  return {
    message: typeof message === 'string' ? message : '',
    ...(typeof code === 'string' && { code }),
    ...(typeof detail === 'string' && { detail }),
    ...(typeof severity === 'string' && { severity }),
  };
}
