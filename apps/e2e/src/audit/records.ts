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
