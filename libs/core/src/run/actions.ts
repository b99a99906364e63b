import type { TimerKind } from './events.js';
import type { Failure, JsonText, RunCause, RunStatus, TaskKind, TaskStatus, UndoResult } from './state.js';

/**
 * Outputs of the state machine. All times are durations in milliseconds; SQL adds them to the
 * database clock (R27). A new kind stops `evolve` and the engine's effects compiling until it is handled.
 */
export type Action =
  | CreateTask
  | DispatchTask
  | CompleteTask
  | FailTask
  | RetryTask
  | ResolveWait
  | CutOffTask
  | WakeTask
  | CancelTasks
  | ReplanUndo
  | BufferSignal
  | ConsumeSignal
  | SetTimer
  | ClearTimers
  | BeginCompensation
  | ReopenRun
  | FinishRun
  | Journal;

/** Insert a task row. SCHEDULED rows get a DispatchTask as well. */
export interface CreateTask {
  readonly type: 'CreateTask';
  readonly taskId: string;
  readonly nodeId: string;
  readonly item: number;
  readonly kind: TaskKind;
  readonly generation: number;
  readonly status: Extract<TaskStatus, 'SCHEDULED' | 'WAITING' | 'SKIPPED' | 'PLANNED' | 'FAILED'>;
  readonly input: JsonText | null;
  /** For a row born FAILED (its input could not be rendered). */
  readonly failure: Failure | null;
}

/** Hand the task's next attempt out: row to SCHEDULED with `attempt`, one outbox row (route kafka). */
export interface DispatchTask {
  readonly type: 'DispatchTask';
  readonly taskId: string;
  readonly nodeId: string;
  readonly item: number;
  readonly kind: TaskKind;
  readonly generation: number;
  readonly attempt: number;
  readonly queue: string;
  /** Name of the handler. */
  readonly handler: string;
  readonly input: JsonText;
  /** Deadlines of this attempt, used by acquire and by wake-ups. */
  readonly deadlines: TaskDeadlines;
  /** Is this a redispatch by the guard? Kept on the row (R12). */
  readonly redispatches: number;
}

export interface TaskDeadlines {
  /** Fail the attempt if no worker has started it by then; null = redispatch guard instead (R12). */
  readonly scheduleToStartMs: number | null;
  /** Redispatch if no worker has started it by then (R12). */
  readonly redispatchAfterMs: number;
  /** Counts from GRANTED. */
  readonly startToCloseMs: number;
  /** Time to live of the lease: heartbeats must come sooner. */
  readonly heartbeatMs: number;
  /** Counts from the generation's first dispatch; null = none. Set on the row once. */
  readonly scheduleToCloseMs: number | null;
  /** true: count from this dispatch, whatever the row holds: an undo that is tried again by `retryCompensation`. */
  readonly restartScheduleToClose?: true;
}

/** Which instant of the row ended the attempt: the write repeats it beside the lease's id (R9). */
export type EndedBy = 'lease' | 'start-to-close' | 'schedule-to-close' | 'cut-off';

/** Ends the attempt: SUCCEEDED. Clears the lease. */
export interface CompleteTask {
  readonly type: 'CompleteTask';
  readonly taskId: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly output: JsonText;
  readonly reportHash: string;
  /** Seq of the journal row that records it: the order of completion. */
  readonly settledSeq: number;
}

/** Ends the task for good: FAILED, TIMED_OUT or CANCELLED. Clears the lease. */
export interface FailTask {
  readonly type: 'FailTask';
  readonly taskId: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly status: Extract<TaskStatus, 'FAILED' | 'TIMED_OUT' | 'CANCELLED'>;
  readonly failure: Failure;
  readonly reportHash: string | null;
  readonly unknownOutcome: boolean;
  readonly failures: number;
  readonly losses: number;
  /** Set when a leased attempt is ended by time and not by its holder (R9). */
  readonly endedBy?: EndedBy;
}

/**
 * Ends the attempt, the task goes on: BACKOFF, next attempt after `backoffMs`.
 * (With `backoffMs` 0 a DispatchTask of the next attempt follows in the same decision.)
 */
export interface RetryTask {
  readonly type: 'RetryTask';
  readonly taskId: string;
  readonly nodeId: string;
  /** The attempt that ended. */
  readonly attempt: number;
  readonly failure: Failure;
  readonly reportHash: string | null;
  readonly unknownOutcome: boolean;
  readonly failures: number;
  readonly losses: number;
  readonly backoffMs: number;
  /** Set when a leased attempt is ended by time and not by its holder (R9). */
  readonly endedBy?: EndedBy;
}

/** WAITING row of a wait node to its end. */
export interface ResolveWait {
  readonly type: 'ResolveWait';
  readonly taskId: string;
  readonly nodeId: string;
  readonly status: Extract<TaskStatus, 'SUCCEEDED' | 'TIMED_OUT' | 'CANCELLED'>;
  readonly output: JsonText | null;
  readonly failure: Failure | null;
  readonly settledSeq: number;
}

/** R18: leave the lease to its end, at most `graceMs` more, and tell the worker on its next heartbeat. */
export interface CutOffTask {
  readonly type: 'CutOffTask';
  readonly taskId: string;
  readonly nodeId: string;
  readonly graceMs: number;
}

/** Nothing changed but the wake-up: re-arm `wake_at` from the row's own deadlines. */
export interface WakeTask {
  readonly type: 'WakeTask';
  readonly taskId: string;
}

/** Close open rows at once: CANCELLED. Clears leases. */
export interface CancelTasks {
  readonly type: 'CancelTasks';
  readonly taskIds: readonly string[];
  readonly reason: Failure;
}

/**
 * `retryCompensation`: an undo that failed is PLANNED again. It keeps its row, generation and attempt (R11, R15);
 * its counts start anew.
 */
export interface ReplanUndo {
  readonly type: 'ReplanUndo';
  readonly taskId: string;
  readonly nodeId: string;
  readonly attempt: number;
}

export interface BufferSignal {
  readonly type: 'BufferSignal';
  readonly signalId: string;
  readonly name: string;
  readonly payload: JsonText;
  readonly payloadHash: string;
  readonly expiresInMs: number | null;
  /** Seq of the journal row of its arrival: FIFO order. */
  readonly seq: number;
}

/** Mark consumed; by nobody (`byTaskId` null) = it had expired. `insert` is set when the signal was never buffered (delivered at once): the row is inserted consumed. */
export interface ConsumeSignal {
  readonly type: 'ConsumeSignal';
  readonly signalId: string;
  readonly name: string;
  readonly byTaskId: string | null;
  readonly insert: {
    readonly payload: JsonText;
    readonly payloadHash: string;
    /** Seq of the journal row of its arrival. */
    readonly seq: number;
  } | null;
}

export interface SetTimer {
  readonly type: 'SetTimer';
  readonly timerId: string;
  readonly kind: TimerKind;
  readonly nodeId: string | null;
  readonly generation: number;
  readonly afterMs: number;
  /** 'run-start' = the run's started_at, which a caller may have given. */
  readonly from: 'now' | 'run-start';
}

export interface ClearTimers {
  readonly type: 'ClearTimers';
  /** All of the run, those of one node, or one row (R21: a fired timer is always consumed). */
  readonly which:
    | { readonly scope: 'all' }
    | { readonly scope: 'kind'; readonly kind: TimerKind }
    | { readonly scope: 'node'; readonly nodeId: string }
    | { readonly scope: 'id'; readonly timerId: string };
}

export interface BeginCompensation {
  readonly type: 'BeginCompensation';
  readonly cause: RunCause;
  readonly failure: Failure;
}

/** Opens epoch + 1. Chosen nodes get tasks of a new generation by the CreateTask actions that follow. */
export interface ReopenRun {
  readonly type: 'ReopenRun';
  readonly epoch: number;
  readonly status: Extract<RunStatus, 'RUNNING' | 'COMPENSATING'>;
  readonly definitionVersion: number;
  /** null = keep. */
  readonly input: JsonText | null;
  readonly resetNodes: readonly string[];
  readonly commandId: string;
}

export interface FinishRun {
  readonly type: 'FinishRun';
  readonly status: Exclude<RunStatus, 'RUNNING' | 'COMPENSATING'>;
  readonly undo: UndoResult;
  readonly cause: RunCause | null;
  readonly failure: Failure | null;
  readonly output: JsonText | null;
}

/** Kinds of run_journal rows. Those marked in `PUBLISHED_JOURNAL_KINDS` also go to the events topic. */
export type JournalKind =
  | 'run.started'
  | 'run.cancel_requested'
  | 'run.deadline_passed'
  | 'run.compensation_started'
  | 'run.reopened'
  | 'run.succeeded'
  | 'run.failed'
  | 'run.compensated'
  | 'run.compensation_failed'
  | 'run.expired'
  | 'run.cancelled'
  | 'task.scheduled'
  | 'task.redispatched'
  | 'task.retry_scheduled'
  | 'task.deferred'
  | 'task.released'
  | 'task.lease_lost'
  | 'task.cut_off'
  | 'node.waiting'
  | 'node.skipped'
  | 'node.succeeded'
  | 'node.failed'
  | 'node.timed_out'
  | 'node.cancelled'
  | 'undo.planned'
  | 'undo.dropped'
  | 'node.compensated'
  | 'node.compensation_failed'
  | 'signal.received'
  | 'signal.consumed'
  | 'timer.fired';

/** One journal row. Ids, codes and sizes only, no payload bytes (R35). */
export interface Journal {
  readonly type: 'Journal';
  readonly seq: number;
  readonly kind: JournalKind;
  readonly nodeId: string | null;
  readonly taskId: string | null;
  readonly taskKind: TaskKind | null;
  readonly attempt: number | null;
  readonly code: string | null;
  readonly detail: string | null;
}
