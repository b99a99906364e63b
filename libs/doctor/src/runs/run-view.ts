import type { Dag, RunState } from '@baton/core';
import type { RunJournal } from './run-journal.js';

/** One run with all that was read about it, of one snapshot. */
export interface RunView {
  readonly state: RunState;
  /** null = the version that the run is pinned to cannot be had. */
  readonly dag: Dag | null;
  readonly stuckReason: string | null;
  readonly journal: RunJournal;
  readonly clocks: readonly ClockRow[];
  readonly timers: readonly TimerRow[];
  readonly messages: readonly OutboxRow[];
  readonly keys: readonly KeyRow[];
  readonly buffered: number;
}

/** A row of clocks-of-tasks.sql. */
export interface ClockRow {
  readonly run_id: string;
  readonly task_id: string;
  readonly node_id: string;
  readonly status: string;
  readonly route: string;
  readonly has_lease: boolean;
  readonly lease_owner: string | null;
  readonly lease_whole: boolean;
  readonly lease_leftover: boolean;
  readonly wake_set: boolean;
  readonly overdue_ms: string | null;
  readonly too_late: boolean;
}

/** A row of timers-of-runs.sql. */
export interface TimerRow {
  readonly run_id: string;
  readonly kind: string;
  readonly node_id: string | null;
  readonly generation: number;
  readonly failures: number;
  readonly overdue_ms: string;
}

/** A row of outbox-of-runs.sql. */
export interface OutboxRow {
  readonly run_id: string;
  readonly run_seq: string;
  readonly type: string;
  readonly topic: string;
  /** Beginning of the payload: ids come before anything long. */
  readonly head: string;
}

/** A row of keys-of-runs.sql. */
export interface KeyRow {
  readonly run_id: string;
  readonly kind: string;
  readonly key: string;
  /** null = the key has no row. */
  readonly holder: string | null;
  /** Was the holder started with this key too? null = there is no such run. */
  readonly claims: boolean | null;
}
