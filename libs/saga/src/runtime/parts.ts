import type { DueItem, FireResult } from '@baton/engine';
import type { Saga, SagaResolver } from '../definition/saga.js';
import type { Clock, StepResult } from '../executor/types.js';
import type { ClaimedStep, JournalCore } from '../journal/ports.js';
import type { SagaLogger, SagaObserver } from '../observe/observer.js';
import type { SagaTracer } from '../observe/tracer.js';
import type { SagaConfig } from './config.js';

/** What the runtime asks of the executor: one attempt of one step under its lease. */
export interface StepRunner {
  /**
   * Begins at once and never throws. `askedAt`: the clock's time before the call was sent that brought the lease (W10).
   */
  begin(step: ClaimedStep, saga: Saga, askedAt: number): RunningAttempt;
}

export interface RunningAttempt {
  /** Never rejects. The lease is renewed until then, and no longer. */
  readonly result: Promise<StepResult>;
  /** The process stops: the step's signal is aborted. The result comes when user code has reacted or is given up. */
  abort(): void;
}

/** Rows whose instant has come: backoffs, lost leases, timeouts, deadlines. Any process may fire them, any time. */
export interface DueRows {
  readDue(limit: number): Promise<{ readonly items: readonly DueItem[]; readonly nextDueInMs: number | null }>;
  fireDue(items: readonly DueItem[]): Promise<readonly FireResult[]>;
}

/** Which process does the work that one is enough for. */
export interface SingleRole {
  /** Takes the role or keeps it; false = another process has it. */
  hold(): Promise<boolean>;
  readonly isActive: boolean;
  release(): Promise<void>;
}

/** Lock first, claim then (W2). An efficiency lock: without it, or when it is lost, leases alone keep order. */
export interface LeaderGate {
  readonly mode: 'leader_elect' | 'unsafe_no_leader';
  /** Without waiting; null = not now, and somebody was told why. Never rejects. */
  acquireLead(run: { readonly runId: string; readonly sagaId: string }): Promise<Lead | null>;
}

/** Of one run. Both ends are safe to call when there is nothing to end. */
export interface Lead {
  /** Never rejects. */
  release(): Promise<void>;
  /** Without I/O: the lock dies with its time to live. */
  orphan(): void;
}

/** What has to be done in a database now and then. */
export interface Upkeep {
  ensurePartitions(): Promise<void>;
  /** At most `limit` keys whose time is over; answers how many went. */
  purgeKeys(limit: number): Promise<number>;
}

export interface RuntimeParts {
  readonly journal: JournalCore;
  readonly runner: StepRunner;
  readonly resolver: SagaResolver;
  readonly due: DueRows;
  readonly role: SingleRole;
  readonly upkeep: Upkeep | null;
  readonly config: SagaConfig;
  /** Steps that run at once in this process (W20). */
  readonly concurrency: number;
  readonly gate: LeaderGate;
  readonly observer: SagaObserver;
  readonly logger: SagaLogger;
  readonly tracer: SagaTracer;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Before the first claim of each start: publishes definitions, makes partitions. Rejects = not started. */
  prepare(): Promise<void>;
}
