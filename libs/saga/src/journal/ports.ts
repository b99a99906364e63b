import type { Failure, JsonText } from '@baton/core';
import type { LeasedTask } from '@baton/engine';
import type { SagaEventKind, SagaStatus, TerminalSagaStatus } from './status.js';

/**
 * The journal, split by the least that each holder needs. A facade over the engine: no port decides anything, and both
 * implementations are the same engine over two stores. One conformance suite (`@baton/saga/testing`) for all.
 */

/** The right to report one attempt of one step. Handed out by a claim, an enqueue or an append. */
export interface StepLease {
  readonly runId: string;
  readonly taskId: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly leaseId: string;
}

/** A leased step with everything that is needed to run it. */
export type ClaimedStep = LeasedTask;

export interface NewInstance {
  /** UUIDv7 of the caller's; default: a fresh one. */
  readonly runId?: string;
  readonly sagaId: string;
  readonly sagaVersion: number;
  readonly input: JsonText | null;
  readonly idempotencyKey?: string;
  readonly businessKey?: string;
  readonly traceparent?: string;
}

/** Take this many of the steps that the call makes runnable, for the caller itself, in the same commit (W1). */
export interface TakeNext {
  readonly max: number;
  readonly leaseMs: number;
}

export interface Enqueued {
  readonly runId: string;
  /** false: the same key had started it already. */
  readonly created: boolean;
  readonly claimed: readonly ClaimedStep[];
}

/** What the holder of a lease reports. */
export type StepReport =
  | { readonly kind: 'step_completed'; readonly output: JsonText }
  | { readonly kind: 'step_failed'; readonly failure: Failure; readonly retryable: boolean }
  | { readonly kind: 'step_compensated'; readonly output?: JsonText }
  | { readonly kind: 'step_compensation_failed'; readonly failure: Failure; readonly retryable: boolean }
  /** Not now, no failure. */
  | { readonly kind: 'step_deferred'; readonly delayMs: number }
  /** Given back. `notStarted`: user code never ran. */
  | { readonly kind: 'step_released'; readonly notStarted: boolean };

export interface Appended {
  /** False: the same report was there already; nothing new happened. */
  readonly applied: boolean;
  /** Of the run after it, where known. */
  readonly status: SagaStatus | null;
  readonly claimed: readonly ClaimedStep[];
}

export interface ClaimBatch {
  /** At most so many; 1 or more. */
  readonly limit: number;
  /** Milliseconds; 1 or more. */
  readonly leaseMs: number;
}

export interface SagaEvent {
  /** From 1, without gaps within the run. */
  readonly version: number;
  /** One of the contract's kinds, or the name of another journal entry of the engine. */
  readonly kind: SagaEventKind | (string & {});
  readonly step: string | null;
  readonly attempt: number | null;
  readonly code: string | null;
  readonly detail: string | null;
  readonly at: Date;
}

/** What only the runtime holds. Without heartbeats: those are the executor's alone. */
export interface JournalCore {
  enqueue(instance: NewInstance, take?: TakeNext): Promise<Enqueued>;
  /** Errors in this order: unknown run (NOT_FOUND), stale lease (STALE_LEASE), bad content (INVALID). Nothing changes on error. */
  append(lease: StepLease, report: StepReport, take?: TakeNext): Promise<Appended>;
  load(runId: string): Promise<readonly SagaEvent[]>;
  /** Leases runnable steps of the sagas that this process knows; of others it sees nothing (W12). */
  claimPending(batch: ClaimBatch): Promise<readonly ClaimedStep[]>;
  /** What could be claimed, without leasing it: for lock first, claim then (W2). */
  peekPending(limit: number): Promise<readonly ClaimablePeek[]>;
  /** Leases exactly this one; null = somebody else was faster. */
  claimOne(peek: ClaimablePeek, leaseMs: number): Promise<ClaimedStep | null>;
  /**
   * The holder says that the run ends with this status now. Accepted where `decide` agrees; true = it has ended with
   * it. Stale or unknown lease: false. A status that does not follow: an error (INVALID).
   */
  markTerminal(lease: StepLease, status: TerminalSagaStatus): Promise<boolean>;
  /** Rejects if the tables are not there or not as they should be. */
  repoReady(): Promise<void>;
}

export interface ClaimablePeek {
  readonly runId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly sagaId: string;
  readonly sagaVersion: number;
}

export type HeartbeatVerdict = 'ok' | 'lost' | 'cancelled' | 'retry';

/** What only the executor holds. */
export interface Heartbeater {
  /** Extends the lease to now + leaseMs, by the database's clock. Stale or unknown: `lost`, no error. */
  heartbeat(lease: StepLease, leaseMs: number, progress?: JsonText): Promise<HeartbeatVerdict>;
}

export type Enqueuer = Pick<JournalCore, 'enqueue'>;
export type Reader = Pick<JournalCore, 'load'>;
export type ProducerReader = Enqueuer & Reader;

/** Everything; what implementations make. No class of the runtime keeps it. */
export interface Journal extends JournalCore, Heartbeater, GlobalReader {
  close(): Promise<void>;
}

/** Opaque: (transaction, position). Of a journal, never of a clock. */
export type GlobalCursor = string;

export interface GlobalEvent {
  readonly cursor: GlobalCursor;
  readonly eventId: string;
  readonly runId: string;
  /** Order within the run. */
  readonly runSeq: number;
  readonly type: string;
  readonly payload: JsonText;
  readonly traceparent: string | null;
  readonly createdAt: Date;
}

/** All runs' events in one order in which nothing ever appears behind what was read (W16). */
export interface GlobalReader {
  /** Strictly after the cursor (null = from the beginning), at most `limit`. */
  loadSince(after: GlobalCursor | null, limit: number): Promise<readonly GlobalEvent[]>;
  /** A cursor after every event that `loadSince` can see now, and before all others; null = there is none. */
  head(): Promise<GlobalCursor | null>;
}
