import type { AcquireAnswer, AcquireLease, HeartbeatAnswer, HeartbeatCall } from '../api.js';
import { least, ownInstants, type TaskRow } from './memory-rows.js';

/** The five answers of acquire (R10) on one row. */
export function acquireOn(row: TaskRow | undefined, call: AcquireLease, now: number, leaseId: string): AcquireAnswer {
  if (row === undefined) return { status: 'NOT_YET' };
  const attempt = call.attempt ?? row.state.attempt;
  if (row.state.attempt < attempt) return { status: 'NOT_YET' };
  if (row.state.attempt > attempt || row.state.status !== 'SCHEDULED') return { status: 'STALE' };
  const { lease } = row;
  if (lease !== null) {
    const isSameCall = lease.owner === call.owner && lease.callId === call.callId && lease.expiresAt > now;
    return isSameCall ? granted(row, call, lease.expiresAt - now) : { status: 'HELD' };
  }
  if (row.state.cutOff) return { status: 'STALE' };
  const ttlMs = Math.min(call.ttlMs > 0 ? call.ttlMs : row.heartbeatMs, row.heartbeatMs);
  row.lease = {
    leaseId,
    owner: call.owner,
    callId: call.callId,
    expiresAt: now + ttlMs,
    startToCloseAt: now + row.startToCloseMs,
  };
  row.wakeAt = least(...ownInstants(row));
  return granted(row, call, ttlMs);
}

function granted(row: TaskRow, call: AcquireLease, ttlMs: number): AcquireAnswer {
  return {
    status: 'GRANTED',
    leaseId: row.lease?.leaseId ?? '',
    ttlMs,
    attempt: row.state.attempt,
    startToCloseMs: row.startToCloseMs,
    ...(call.wantInput && row.input !== null ? { input: row.input } : {}),
    ...(row.progress === null ? {} : { progress: row.progress }),
  };
}

export function heartbeatOn(row: TaskRow | undefined, call: HeartbeatCall, now: number): HeartbeatAnswer {
  const lease = row?.lease ?? null;
  if (row === undefined || lease === null) return { status: 'LOST' };
  // R14: a heartbeat after the expiry is refused, decided or not; at its very instant the lease still holds (J8).
  const isHolder = lease.leaseId === call.leaseId && row.state.attempt === call.attempt && lease.expiresAt >= now;
  if (!isHolder) return { status: 'LOST' };
  const ttlMs = Math.min(call.ttlMs > 0 ? call.ttlMs : row.heartbeatMs, row.heartbeatMs);
  if (call.progress !== undefined) row.progress = call.progress;
  // R18: a cut-off task is renewed to the end of its grace, no further.
  lease.expiresAt = row.state.cutOff ? (least(now + ttlMs, row.cutOffUntil) ?? now + ttlMs) : now + ttlMs;
  return { status: row.state.cutOff ? 'CANCELLED' : 'OK', ttlMs: lease.expiresAt - now };
}
