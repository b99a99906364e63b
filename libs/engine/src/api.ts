import type { Failure, JsonText, RunStatus, TaskKind, TaskStatus } from '@baton/core';

/** What callers of the engine say and hear. Every expected outcome is a value; a rejected promise is an EngineError. */

export interface StartRun {
  readonly namespace: string;
  readonly definitionId: string;
  /** undefined = the deployed version. */
  readonly definitionVersion?: number;
  readonly input: JsonText | null;
  /** Client's own id: a UUIDv7 no older than 24 h and no newer than 1 h. */
  readonly runId?: string;
  readonly idempotencyKey?: string;
  readonly businessKey?: string;
  readonly startNodeId?: string;
  /** Milliseconds since 1970: when the caller accepted the work. */
  readonly startedAtMs?: number;
  readonly traceparent?: string;
  /** First tasks of a run that this call creates, for a worker in this process. */
  readonly lease?: LeaseWish;
}

export interface RunStartedResult {
  readonly runId: string;
  /** false: this key or run id had started it already, with the same request. */
  readonly created: boolean;
  readonly status: RunStatus;
  /** With `lease`: what the write that made the run leased. */
  readonly leased?: readonly LeasedTask[];
}

/**
 * Takes tasks for a worker in this process by the very write that dispatches them: no statement of their own, no message.
 * What the answer names is durable. A lost answer is a lost lease: it expires, and counts as a lost attempt.
 */
export interface LeaseWish {
  readonly owner: string;
  /** The lease lasts for this long, or for the task's heartbeat timeout where that is less (R14). 0 = the latter. */
  readonly ttlMs: number;
  /** At most so many of the tasks that this call dispatches. */
  readonly max: number;
  /** Asked before the lease is taken. Default: all. It must not throw. */
  readonly wants?: (task: WantedTask) => boolean;
}

export interface WantedTask {
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly nodeId: string;
  readonly kind: TaskKind;
  readonly queue: string;
  readonly handler: string;
}

/** A task that waits for a worker of the embedded runtime. */
export interface ClaimableTask extends WantedTask {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
  readonly item: number;
  readonly generation: number;
  readonly attempt: number;
  /** Of this generation and epoch; attempts that ended otherwise do not count (R11). */
  readonly failures: number;
  readonly epoch: number;
  readonly traceparent: string | null;
}

/** A task and the lease under which it may run. */
export interface LeasedTask extends ClaimableTask {
  readonly leaseId: string;
  /** What is left of the lease, counted from when the database granted it. */
  readonly ttlMs: number;
  readonly startToCloseMs: number | null;
  readonly input: JsonText;
  /** Of the last heartbeat of an earlier attempt. */
  readonly progress?: JsonText;
}

/** Whose tasks a claim may take: exact versions, each with the queue of its tasks. */
export interface ClaimableDefinition {
  readonly id: string;
  readonly version: number;
  readonly queue: string;
}

/** Only tasks of route `local` are claimed (R29), oldest dispatch first. */
export interface ClaimTasks {
  readonly namespace: string;
  readonly definitions: readonly ClaimableDefinition[];
  readonly owner: string;
  /** The same owner and id get the same leases again while they last: a lost answer loses nothing (R10). */
  readonly callId: string;
  /** As in `LeaseWish`. */
  readonly ttlMs: number;
  readonly limit: number;
}

export interface ReportAndLeaseResult {
  readonly outcome: import('@baton/core').ReportOutcome;
  readonly leased: readonly LeasedTask[];
  /** Of the run after the report; null where the run was not found. */
  readonly status: RunStatus | null;
}

export type ReportStatus = 'completed' | 'failed' | 'released' | 'deferred';

export interface TaskReport {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
  readonly nodeId: string;
  /** 0 = the current attempt (legacy workers). */
  readonly attempt: number;
  readonly leaseId?: string;
  readonly status: ReportStatus;
  /** completed: JSON text. */
  readonly output?: JsonText;
  /** failed. */
  readonly failure?: Failure;
  readonly retryable?: boolean;
  /** deferred. */
  readonly retryAfterMs?: number;
  /** released: user code never ran. */
  readonly notStarted?: boolean;
}

export interface AcquireLease {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
  /** undefined = the current attempt. */
  readonly attempt?: number;
  readonly owner: string;
  readonly callId: string;
  /** 0 = the task's heartbeat timeout. */
  readonly ttlMs: number;
  readonly wantInput: boolean;
}

export type AcquireStatus = 'GRANTED' | 'HELD' | 'STALE' | 'NOT_YET' | 'RETRY';

export interface AcquireAnswer {
  readonly status: AcquireStatus;
  readonly leaseId?: string;
  readonly ttlMs?: number;
  readonly attempt?: number;
  readonly startToCloseMs?: number;
  readonly input?: JsonText;
  readonly progress?: JsonText;
}

export interface HeartbeatCall {
  readonly namespace: string;
  readonly runId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly leaseId: string;
  readonly ttlMs: number;
  readonly progress?: JsonText;
}

export interface HeartbeatAnswer {
  readonly status: 'OK' | 'LOST' | 'CANCELLED' | 'RETRY';
  readonly ttlMs?: number;
}

export interface SignalRun {
  readonly namespace: string;
  readonly runId: string;
  readonly name: string;
  readonly payload: JsonText;
  readonly signalId: string;
  readonly expiresInMs?: number;
}

export interface SignalResult {
  readonly delivered: boolean;
  readonly duplicate: boolean;
}

export interface RetryRun {
  readonly namespace: string;
  readonly runId: string;
  readonly requestId: string;
  readonly fromNodeId?: string;
  /** undefined = pinned; 'deployed' or a number = chosen inside the lock. */
  readonly definitionVersion?: number | 'deployed';
  readonly input?: JsonText;
}

export interface CommandResult {
  readonly status: RunStatus;
  readonly epoch: number;
  /** This request id had its effect already. */
  readonly duplicate: boolean;
}

export interface CancelRun {
  readonly namespace: string;
  readonly runId: string;
  readonly requestId: string;
  readonly reason: string;
}

export interface RetryCompensation {
  readonly namespace: string;
  readonly runId: string;
  readonly requestId: string;
}

export type DueItem =
  | {
      readonly kind: 'task';
      readonly namespace: string;
      readonly runId: string;
      readonly taskId: string;
      readonly attempt: number;
    }
  | { readonly kind: 'timer'; readonly namespace: string; readonly runId: string; readonly timerId: string };

export interface FireResult {
  readonly outcome: 'APPLIED' | 'IGNORED' | 'FAILED';
  readonly reason?: string;
}

export interface RunView {
  readonly runId: string;
  readonly namespace: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly status: RunStatus;
  readonly cause: string | null;
  readonly compensation: string;
  readonly epoch: number;
  readonly failure: Failure | null;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly businessKey: string | null;
  readonly stuckReason: string | null;
}

export interface TaskView {
  readonly taskId: string;
  readonly nodeId: string;
  readonly item: number;
  readonly kind: TaskKind;
  readonly generation: number;
  readonly status: TaskStatus | 'RUNNING';
  readonly attempt: number;
  readonly failures: number;
  readonly losses: number;
  readonly unknownOutcome: boolean;
  readonly failure: Failure | null;
  readonly leaseOwner: string | null;
  readonly createdAt: Date;
  readonly settledAt: Date | null;
  readonly input?: JsonText | null;
  readonly output?: JsonText | null;
}

export interface JournalView {
  readonly seq: number;
  readonly epoch: number;
  readonly kind: string;
  readonly nodeId: string | null;
  readonly taskId: string | null;
  readonly taskKind: string | null;
  readonly attempt: number | null;
  readonly code: string | null;
  readonly detail: string | null;
  readonly at: Date;
}

export interface RunDetails {
  readonly run: RunView;
  readonly tasks: readonly TaskView[];
  readonly bufferedSignals: readonly { readonly signalId: string; readonly name: string; readonly receivedAt: Date }[];
  readonly input?: JsonText | null;
  readonly output?: JsonText | null;
  /** Payloads were asked for, but those of the tasks are more than 32 MiB together: they are not here. */
  readonly payloadsLeftOut?: true;
}

/** What a run and its tasks came to, or how far they are. */
export interface RunOutcome {
  readonly run: Pick<RunView, 'runId' | 'namespace' | 'status' | 'failure'>;
  readonly tasks: readonly Pick<TaskView, 'taskId' | 'nodeId' | 'item' | 'kind' | 'generation' | 'status' | 'output'>[];
  readonly output?: JsonText | null;
  /** As in `RunDetails`. */
  readonly payloadsLeftOut?: true;
}

export interface ListRuns {
  readonly namespace: string;
  readonly definitionId?: string;
  readonly definitionVersion?: number;
  readonly statuses?: readonly RunStatus[];
  readonly businessKey?: string;
  readonly pageSize: number;
  readonly cursor?: string;
}

export interface RunPage {
  readonly runs: readonly RunView[];
  readonly nextCursor: string | null;
}

/**
 * Why a call could not be done. `kind` answers "whose fault, and try again?"; `code` is stable and documented.
 * Protocol numbers (gRPC, HTTP) are chosen by the edges.
 */
export class EngineError extends Error {
  readonly details: readonly ErrorDetail[];

  constructor(
    readonly kind: 'invalid' | 'not-found' | 'conflict' | 'precondition' | 'too-large' | 'unavailable' | 'internal',
    readonly code: string,
    message: string,
    more: { readonly details?: readonly ErrorDetail[]; readonly cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'EngineError';
    this.details = more.details ?? [];
  }
}

/** One finding: where it is (a JSON pointer), what it is (a stable code), and text for people. */
export interface ErrorDetail {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** The engine as the edges use it. Implemented by `createEngine` over a `Store`. */
export interface EngineApi {
  start(command: StartRun): Promise<RunStartedResult>;
  /**
   * A start within a transaction of the caller: the engine decides, `write` writes (with `writeStartOn` of the storage) and
   * the caller commits. Takes no lane and no lease, and tells no hook: nobody here hears of the commit. What `write` throws
   * is thrown.
   */
  startWith(
    command: StartRun,
    write: (start: import('./ports.js').RunStartWrite) => Promise<import('./ports.js').StartResult>,
  ): Promise<RunStartedResult>;
  report(report: TaskReport): Promise<import('@baton/core').ReportOutcome>;
  /** A report whose commit leases what it dispatches, as `wish` says, to the one who reports. */
  reportAndLease(report: TaskReport, wish: LeaseWish): Promise<ReportAndLeaseResult>;
  acquire(call: AcquireLease): Promise<AcquireAnswer>;
  heartbeat(call: HeartbeatCall): Promise<HeartbeatAnswer>;
  /** Leases what waits, for a worker that has free slots. */
  claim(call: ClaimTasks): Promise<readonly LeasedTask[]>;
  /** What a claim would find now, without leasing it: for a lock that comes before the lease. */
  claimable(
    namespace: string,
    definitions: readonly ClaimableDefinition[],
    limit: number,
  ): Promise<readonly ClaimableTask[]>;
  signal(command: SignalRun): Promise<SignalResult>;
  retry(command: RetryRun): Promise<CommandResult>;
  retryCompensation(command: RetryCompensation): Promise<CommandResult>;
  cancel(command: CancelRun): Promise<CommandResult>;
  fireDue(items: readonly DueItem[]): Promise<readonly FireResult[]>;
  getRun(namespace: string, runId: string, withPayloads: boolean): Promise<RunDetails>;
  listRuns(query: ListRuns): Promise<RunPage>;
  history(namespace: string, runId: string, afterSeq: number, limit: number): Promise<readonly JournalView[]>;
  /** Resolves when the run is terminal, or after waitMs with the run as it is. */
  awaitResult(namespace: string, runId: string, waitMs: number, signal?: AbortSignal): Promise<RunDetails>;
  /**
   * As `awaitResult`, and less: of a run whose tasks were all reported through this engine nothing is read from the
   * database again. Outputs of undos may be absent.
   */
  awaitOutcome(namespace: string, runId: string, waitMs: number, signal?: AbortSignal): Promise<RunOutcome>;
  /** Finishes what is queued, then resolves. New calls are refused. */
  close(): Promise<void>;
}
