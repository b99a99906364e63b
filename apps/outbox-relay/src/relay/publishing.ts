import type { LaneMessage } from '@baton/bus-kafka';
import type { OutboxRow } from './outbox-row.js';
import type { Lsn } from './replication/lsn.js';

/** A row on its way. Exactly one of the two is called, once, when it is safe (L6). */
export interface Entry {
  readonly row: OutboxRow;
  /** Where its transaction committed; null = read from the table. */
  readonly commitLsn: Lsn | null;
  readonly settle: () => void;
}

export const POISONED_TYPE = 'outbox.poisoned';

/** Why a row can never be published. Kept in outbox_dead.reason. */
export type DeadReason = 'BAD_TOPIC' | 'BAD_HEADERS' | 'MESSAGE_TOO_LARGE';

/** Headers: id, run_seq, type, traceparent, and those of the row that do not collide with them. */
export function messageOf(row: OutboxRow, extra: Readonly<Record<string, string>>): LaneMessage {
  const headers: Record<string, string> = { ...extra, id: row.id, run_seq: row.runSeq.toString(), type: row.type };
  // Byte for byte as the row has it: the trace is the run's, not the relay's.
  if (row.traceparent !== null) headers['traceparent'] = row.traceparent;
  else delete headers['traceparent'];
  return { key: row.runId, value: row.payload, headers };
}

/** Takes the dead row's place in its lane, so that its key has no silent gap. */
export function placeholderOf(row: OutboxRow, reason: DeadReason): LaneMessage {
  const value = JSON.stringify({ id: row.id, runId: row.runId, runSeq: row.runSeq.toString(), type: row.type, reason });
  const headers: Record<string, string> = { id: row.id, run_seq: row.runSeq.toString(), type: POISONED_TYPE };
  if (row.traceparent !== null) headers['traceparent'] = row.traceparent;
  return { key: row.runId, value, headers };
}

/** The row's own headers: a JSON object of texts. null = not that. */
export function readHeaders(text: string | null): Readonly<Record<string, string>> | null {
  if (text === null) return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
    const entries = Object.entries(parsed as Record<string, unknown>);
    if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return null;
    return Object.fromEntries(entries);
  } catch {
    return null;
  }
}
