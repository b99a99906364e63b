/**
 * The state of one run as the state machine sees it. Immutable: `decide` and `evolve` return new objects.
 *
 * It holds only columns that change together with the run's version (R9): lease columns, payloads and clocks
 * are not part of it and reach `decide` through `Loaded`, when it asks for them.
 */

/** JSON kept as the caller's own bytes (decoded UTF-8). Never parsed on its way through. */
export type JsonText = string;

export type RunStatus =
  'RUNNING' | 'COMPENSATING' | 'SUCCEEDED' | 'FAILED' | 'COMPENSATED' | 'COMPENSATION_FAILED' | 'EXPIRED' | 'CANCELLED';

/** What ended the forward phase. Set once per epoch (R19). */
export type RunCause = 'failure' | 'cancel' | 'deadline';

/** How the undo went. NONE = never began. */
export type UndoResult = 'NONE' | 'CLEAN' | 'FAILED';

/** Where tasks of the run are dispatched; fixed at its start (R29). */
export type Route = 'kafka' | 'local';

/**
 * SCHEDULED covers "on its way to a worker" and "leased by one": whether a lease is held is a lease column (R9),
 * so readers show a leased SCHEDULED row as RUNNING.
 */
export type TaskStatus =
  | 'SCHEDULED'
  | 'BACKOFF'
  | 'WAITING'
  | 'HELD'
  | 'PLANNED'
  | 'SUCCEEDED'
  | 'FAILED'
  | 'TIMED_OUT'
  | 'SKIPPED'
  | 'CANCELLED';

export type TaskKind = 'forward' | 'compensate';

/** Why something failed: a stable code, and text for people. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** Node that failed, where one did. */
  readonly nodeId?: string;
}

export interface TaskState {
  readonly taskId: string;
  readonly nodeId: string;
  /** Index of a map's item; 0 for every other node. */
  readonly item: number;
  readonly kind: TaskKind;
  /** Epoch of the first dispatch of this execution of the node (R15). */
  readonly generation: number;
  readonly status: TaskStatus;
  /** The fence. Rises at each dispatch, never resets (R11). 0 = not dispatched yet. */
  readonly attempt: number;
  /** Compared with `retry.maxAttempts` (R11). */
  readonly failures: number;
  /** Attempts that ended by a lost lease; own cap (R11). */
  readonly losses: number;
  /** Redispatches of the current attempt chain without a start; doubles the guard (R12). */
  readonly redispatches: number;
  /**
   * R17: a leased attempt of this generation ended without a report, or with a result that could not be kept, and none
   * succeeded later.
   */
  readonly unknownOutcome: boolean;
  /** R18: cut off by a failure, cancel or deadline while leased; waits for the end of that lease. */
  readonly cutOff: boolean;
  /** Hash of the report that closed the current attempt; null while it is open (R14). */
  readonly reportHash: string | null;
  /** Order in which forward tasks SUCCEEDED within the run (a journal seq); null before. For sequential undo. */
  readonly settledSeq: number | null;
  readonly failure: Failure | null;
}

export interface RunState {
  readonly runId: string;
  readonly namespace: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly route: Route;
  readonly status: RunStatus;
  readonly cause: RunCause | null;
  readonly undo: UndoResult;
  /** 1 at start, +1 at each reopening. */
  readonly epoch: number;
  /** Fence of every write to the run: +1 per committed batch that touches it. Set by the engine, read-only here. */
  readonly version: number;
  /** Last used seq of run_journal. */
  readonly journalSeq: number;
  /**
   * Last used run_seq of the outbox. `evolve` counts: +1 for each DispatchTask of a run with route kafka, +1 for each
   * Journal action whose kind is in PUBLISHED_JOURNAL_KINDS, in the order of the actions.
   */
  readonly outboxSeq: number;
  /** Number of buffered signals (cap R32). */
  readonly bufferedSignals: number;
  readonly failure: Failure | null;
  /** All task rows of the run, every generation, by task id. */
  readonly tasks: ReadonlyMap<string, TaskState>;
}
