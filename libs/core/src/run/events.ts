import type { Failure, JsonText } from './state.js';

/** Inputs of the state machine. A new kind stops `decide` compiling until it is handled. */
export type RunEvent =
  | RunStarted
  | NodeCompleted
  | NodeFailed
  | TaskReleased
  | TaskDeferred
  | TaskWoken
  | SignalReceived
  | TimerFired
  | RunRetried
  | RunCancelled
  | CompensateRun;

/** The run row exists and has no tasks yet. */
export interface RunStarted {
  readonly type: 'RunStarted';
  /** Start here: every node that is not this one or downstream of it is SKIPPED. */
  readonly startNodeId?: string;
}

interface ReportBase {
  readonly taskId: string;
  readonly nodeId: string;
  /** Fencing token: the attempt that the worker was given. */
  readonly attempt: number;
  /** Compared with the row's lease where the worker has one; the engine does it (R9). */
  readonly leaseId?: string;
  /** Hash of the report's content: tells DUPLICATE from CONFLICT (R14). */
  readonly reportHash: string;
}

export interface NodeCompleted extends ReportBase {
  readonly type: 'NodeCompleted';
  readonly output: JsonText;
}

export interface NodeFailed extends ReportBase {
  readonly type: 'NodeFailed';
  readonly failure: Failure;
  /** false = do not retry, whatever the policy says. */
  readonly retryable: boolean;
}

/** A worker gives the attempt back (SIGTERM, full): next attempt at once (R13). */
export interface TaskReleased extends ReportBase {
  readonly type: 'TaskReleased';
  /** false = user code never ran: the outcome is known (nothing happened). */
  readonly started: boolean;
}

/** retryLater: the attempt ends, the next comes after `delayMs`; not a failure (R11). */
export interface TaskDeferred extends ReportBase {
  readonly type: 'TaskDeferred';
  readonly delayMs: number;
}

/** The row's `wake_at` is due: lease expiry, a timeout, backoff over, redispatch guard. Decided on lease facts. */
export interface TaskWoken {
  readonly type: 'TaskWoken';
  readonly taskId: string;
  readonly attempt: number;
}

export interface SignalReceived {
  readonly type: 'SignalReceived';
  /** Deduplicates until the run ends. */
  readonly signalId: string;
  readonly name: string;
  readonly payload: JsonText;
  readonly payloadHash: string;
  /** Drop it if no wait has taken it by then; checked when read. */
  readonly expiresInMs?: number;
}

export type TimerKind = 'wait-timeout' | 'run-deadline' | 'compensation-timeout';

export interface TimerFired {
  readonly type: 'TimerFired';
  readonly timerId: string;
}

export interface RunRetried {
  readonly type: 'RunRetried';
  readonly commandId: string;
  /** Default: everything that failed or was cut off. */
  readonly fromNodeId?: string;
  /** New input of the run, if it is to change. */
  readonly input?: JsonText;
}

export interface RunCancelled {
  readonly type: 'RunCancelled';
  readonly commandId: string;
  readonly reason: string;
}

/** Opens a new epoch of undo work on a terminal run. Today: re-run the undo tasks that failed. */
export interface CompensateRun {
  readonly type: 'CompensateRun';
  readonly commandId: string;
  readonly scope: 'failed-undos';
}
