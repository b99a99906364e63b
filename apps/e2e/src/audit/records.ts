import type { OrderOutcome } from '../order-feeder.js';

/** What is known about a number of order runs, from sources that do not know of each other. */
export interface Records {
  /** What the caller of the API was told. */
  readonly outcomes: readonly OrderOutcome[];
  /** Every run of the namespace: also one that nobody asked for. */
  readonly runs: readonly RunRecord[];
  readonly tasks: readonly TaskRecord[];
  readonly journal: readonly JournalRecord[];
  readonly outbox: readonly OutboxRecord[];
  readonly deadOutboxRows: number;
  /** What workers did, as they wrote it down themselves, in order. */
  readonly ledger: readonly LedgerRecord[];
  /** All of Baton's topics, from their beginning. */
  readonly messages: readonly MessageRecord[];
}

export interface RunRecord {
  readonly runId: string;
  readonly status: string;
  readonly outboxSeq: number;
  readonly stuckReason: string | null;
  /** Timers that could still fire. */
  readonly timers: number;
}

export interface TaskRecord {
  readonly taskId: string;
  readonly runId: string;
  readonly node: string;
  readonly kind: 'forward' | 'compensate';
  readonly status: string;
  readonly attempt: number;
  readonly unknownOutcome: boolean;
}

export interface JournalRecord {
  readonly runId: string;
  readonly kind: string;
  readonly taskId: string | null;
  readonly attempt: number | null;
  readonly code: string | null;
}

export interface OutboxRecord {
  readonly id: string;
  readonly runId: string;
  readonly runSeq: number;
  readonly topic: string;
  readonly type: string;
  readonly payload: string;
}

export interface LedgerRecord {
  readonly runId: string;
  readonly node: string;
  readonly kind: 'forward' | 'compensate';
  readonly attempt: number;
  readonly key: string;
  readonly event: 'started' | 'finished' | 'failed';
  readonly pid: number;
}

export interface MessageRecord {
  readonly topic: string;
  readonly partition: number;
  readonly id: string;
  /** The run. */
  readonly key: string;
  readonly runSeq: number;
  readonly type: string;
  readonly value: string;
}

/** How the records are read; the same for the platform and for embedded sagas. */
export const RUNS = `
  SELECT run_id AS "runId", status, outbox_seq::int AS "outboxSeq", stuck_reason AS "stuckReason",
         (SELECT count(*)::int FROM baton.timers t WHERE t.run_id = r.run_id) AS timers
  FROM baton.workflow_runs r`;
export const TASKS = `
  SELECT task_id AS "taskId", run_id AS "runId", node_id AS node, kind, status, attempt,
         unknown_outcome AS "unknownOutcome"
  FROM baton.task_instances`;
export const JOURNAL = `
  SELECT run_id AS "runId", kind, task_id AS "taskId", attempt, code FROM baton.run_journal ORDER BY run_id, seq`;
export const LEDGER = `
  SELECT run_id AS "runId", node, kind, attempt, idempotency_key AS key, event, pid FROM ledger ORDER BY id`;
