import type { SqlExecutor } from '@baton/storage-postgres';
import type { Duration, Outputs } from '../definition/types.js';
import type { SagaStatus, TerminalSagaStatus } from '../journal/status.js';

export interface StartOptions {
  /**
   * The caller's own transaction: a client of `pg`, an EntityManager or a QueryRunner of TypeORM, or anything with their
   * `query`. The run is there when that commits, and never was when it rolls back. Call `kick` after the commit.
   */
  readonly tx?: SqlExecutor;
  /** UUIDv7, no older than a day. Default: a fresh one. A second start under it is refused. */
  readonly runId?: string;
  /** The same key, saga and input again answer the run that was started; with something else: a conflict. */
  readonly idempotencyKey?: string;
  /** Names one open run of the saga, for people: an order number. Taken by another open run: a conflict. */
  readonly businessKey?: string;
  /** W3C. The spans of the steps go on with this trace. */
  readonly traceparent?: string;
  /** Default: the version of the saga that is given; by id, the newest that this process has, or the deployed one. */
  readonly version?: number;
}

/** A run that was started. */
export interface StartedSaga<O = Outputs> {
  readonly runId: string;
  /** false = the idempotency key had started it already. */
  readonly created: boolean;
  /** As `SagaClient.result`. */
  result(options?: ResultOptions): Promise<SagaResult<O>>;
}

export interface ResultOptions {
  /** Then it rejects with RESULT_TIMEOUT (deadline); the run goes on. Default: as long as it takes. */
  readonly timeoutMs?: number;
  /** Aborted: it rejects with RESULT_ABORTED (deadline); the run goes on. */
  readonly signal?: AbortSignal;
}

/** How a run ended. A saga that failed is a result, not an error. */
export type SagaResult<O = Outputs> =
  | {
      readonly runId: string;
      readonly status: 'succeeded';
      /** Of the last step; of several last steps an object by name. */
      readonly output: unknown;
      /** Of every step by name. */
      readonly outputs: O;
      readonly failure: null;
    }
  | {
      readonly runId: string;
      readonly status: Exclude<TerminalSagaStatus, 'succeeded'>;
      readonly output: null;
      /** Of the steps that succeeded, undone or not. */
      readonly outputs: Partial<O>;
      /** Why it did not succeed; of a cancelled one the reason that was given, under CANCELLED. */
      readonly failure: SagaFailure | null;
    };

export interface SagaFailure {
  readonly code: string;
  readonly message: string;
  /** Step that failed, where one did. */
  readonly step?: string;
}

export interface SagaView {
  readonly runId: string;
  readonly sagaId: string;
  readonly sagaVersion: number;
  readonly status: SagaStatus;
  readonly businessKey: string | null;
  readonly failure: SagaFailure | null;
  /** Rises with each retry. */
  readonly epoch: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  /** Set when somebody must look: nothing goes on by itself. */
  readonly stuckReason: string | null;
}

export interface SagaDetails<O = Outputs> extends SagaView {
  readonly steps: readonly SagaStepView[];
  /** Signals that no step has waited for yet. */
  readonly bufferedSignals: readonly { readonly signalId: string; readonly name: string; readonly receivedAt: Date }[];
  /** With `payloads` only. */
  readonly input?: unknown;
  readonly output?: unknown;
  /** Of the steps that have succeeded. */
  readonly outputs?: Partial<O>;
}

export type SagaStepStatus =
  | 'scheduled'
  | 'running'
  | 'backoff'
  | 'waiting'
  | 'held'
  | 'planned'
  | 'succeeded'
  | 'failed'
  | 'timed_out'
  | 'skipped'
  | 'cancelled';

/** A step, or the undo of one. */
export interface SagaStepView {
  readonly step: string;
  readonly kind: 'forward' | 'compensate';
  readonly status: SagaStepStatus;
  readonly attempt: number;
  readonly failures: number;
  /** An attempt ended without telling what it did. */
  readonly unknownOutcome: boolean;
  readonly failure: SagaFailure | null;
  readonly createdAt: Date;
  readonly settledAt: Date | null;
}

export interface ListSagas {
  readonly sagaId?: string;
  readonly version?: number;
  /** `pending` and `running` are one here: lists do not look at steps. */
  readonly statuses?: readonly SagaStatus[];
  readonly businessKey?: string;
  /** From 1 to 100, default 50. */
  readonly pageSize?: number;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface SagaPage {
  /** Newest first. Never `pending`. */
  readonly sagas: readonly SagaView[];
  /** null = this was the last page. */
  readonly nextCursor: string | null;
}

export interface SignalOptions {
  /** The same id again does nothing. Default: a fresh one. */
  readonly signalId?: string;
  /** Until then it waits for a step that wants it. */
  readonly expiresIn?: Duration;
}

export interface SignalAnswer {
  /** A step was waiting for it; false = it is kept. */
  readonly delivered: boolean;
  readonly duplicate: boolean;
}

export interface CommandOptions {
  /** The same id again does nothing. Default: a fresh one. */
  readonly requestId?: string;
}

export interface CancelOptions extends CommandOptions {
  readonly reason?: string;
}

export interface RetryOptions extends CommandOptions {
  /** Default: what failed. */
  readonly fromStep?: string;
  /** Default: the version that the run began with. */
  readonly version?: number;
  readonly input?: unknown;
}

/** How the run stands after a command. */
export interface CommandAnswer {
  readonly status: SagaStatus;
  readonly epoch: number;
  /** This request had its effect already. */
  readonly duplicate: boolean;
}

export interface HistoryOptions {
  /** Events after this version. Default 0: from the beginning. */
  readonly after?: number;
  /** From 1 to 1,000, which is the default. */
  readonly limit?: number;
}

export interface GetOptions {
  /** Input and outputs too. */
  readonly payloads?: boolean;
}
