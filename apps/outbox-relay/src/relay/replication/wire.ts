import type { Lsn } from './lsn.js';

/** Microseconds from the Unix epoch to the one of PostgreSQL, 2000-01-01. */
const POSTGRES_EPOCH_US = 946_684_800_000_000n;

const XLOG_DATA = 0x77; // w
const KEEPALIVE = 0x6b; // k
const STANDBY_STATUS = 0x72; // r
const XLOG_HEADER_BYTES = 25;

export type StreamMessage =
  | {
      readonly kind: 'data';
      readonly start: Lsn;
      /** End of the server's log when it sent this. */
      readonly walEnd: Lsn;
      /** A view on memory that is used again: valid only until the handler returns. */
      readonly payload: Buffer;
    }
  | { readonly kind: 'keepalive'; readonly walEnd: Lsn; readonly replyRequested: boolean }
  | { readonly kind: 'unknown'; readonly tag: number };

export function readStreamMessage(chunk: Buffer): StreamMessage {
  const tag = chunk[0];
  if (tag === XLOG_DATA) {
    return {
      kind: 'data',
      start: chunk.readBigUInt64BE(1),
      walEnd: chunk.readBigUInt64BE(9),
      payload: chunk.subarray(XLOG_HEADER_BYTES),
    };
  }
  if (tag === KEEPALIVE) {
    return { kind: 'keepalive', walEnd: chunk.readBigUInt64BE(1), replyRequested: chunk[17] === 1 };
  }
  return { kind: 'unknown', tag: tag ?? -1 };
}

export interface StandbyStatus {
  /** Last position received. */
  readonly received: Lsn;
  /** L1: everything up to here is in Kafka or dead. Sent as flushed and applied. */
  readonly confirmed: Lsn;
  readonly nowMs: number;
}

export function writeStandbyStatus(status: StandbyStatus): Buffer {
  const message = Buffer.allocUnsafe(34);
  message[0] = STANDBY_STATUS;
  message.writeBigUInt64BE(status.received, 1);
  message.writeBigUInt64BE(status.confirmed, 9);
  message.writeBigUInt64BE(status.confirmed, 17);
  message.writeBigInt64BE(BigInt(Math.trunc(status.nowMs)) * 1000n - POSTGRES_EPOCH_US, 25);
  message[33] = 0;
  return message;
}

/** PostgreSQL's microseconds since 2000 as milliseconds since 1970. */
export function postgresTimeMs(microseconds: bigint): number {
  return Number((microseconds + POSTGRES_EPOCH_US) / 1000n);
}
