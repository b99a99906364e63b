import type {
  Failure,
  JsonText,
  Loaded,
  Needs,
  RunCause,
  RunState,
  RunStatus,
  TaskDeadlines,
  TaskState,
  TimerKind,
  UndoResult,
  Journal,
  Route,
} from '@baton/core';
import type {
  AcquireAnswer,
  AcquireLease,
  ClaimTasks,
  ClaimableDefinition,
  ClaimableTask,
  HeartbeatAnswer,
  HeartbeatCall,
  JournalView,
  LeasedTask,
  ListRuns,
  RunDetails,
  RunPage,
} from './api.js';

/**
 * What the engine needs from a database. Implemented by storage-postgres; one conformance suite
 * (`@baton/engine/testing`) for every implementation.
 *
 * All durations are milliseconds; the store adds them to the database clock (R27).
 */
export interface Store {
  /**
   * Runs with their task rows, without locks: one statement for the whole batch. Rows of one run are of one
   * snapshot. Missing runs, and runs of another namespace, are absent. A torn read cannot survive the write:
   * it repeats `version` (ADR 0001).
   */
  readRuns(refs: readonly RunRef[]): Promise<ReadonlyMap<string, StoredRun>>;

  /**
   * What `decide` asked for, for several runs at once. `leases` are answered by a locked session, and here only where
   * `withLeases` asks for them as they stand: whoever decides on those must repeat them in the write (R30).
   */
  readNeeds(
    requests: readonly NeedsRequest[],
    options?: { readonly withLeases?: boolean },
  ): Promise<ReadonlyMap<string, Loaded>>;

  /** Command ids of runs that are stored already (R24), by `commandKey`. */
  readCommands(refs: readonly CommandRef[]): Promise<ReadonlyMap<string, StoredCommand>>;

  /**
   * The write statement (R1, R2, ADR 0001): locks the runs whose version is the expected one (SKIP LOCKED, in id
   * order), applies every row of the held runs, raises FenceMissError when a fenced row was not as expected
   * (nothing stays). Runs that were locked or have moved are not in `held`: nothing of theirs was written.
   * Autocommitted: when it answers, the held runs are durable.
   */
  write(batch: WriteBatch): Promise<WriteResult>;

  /**
   * Starts: insert keys (sorted), runs, payloads, tasks, journal, outbox, timers in one transaction.
   * Runs whose key or id exists already come back in `existing`; nothing of theirs was written.
   */
  writeStarts(batch: StartBatch): Promise<StartResult>;

  /**
   * Lock-first way in (ADR 0001): BEGIN, lock these runs in id order (waiting for the lock), read them, and give a
   * session in which `readNeeds` also answers leases (locking those task rows after the runs, R9) and `write`
   * runs inside the transaction. Commits when `work` resolves, rolls back when it rejects.
   * `keysFirst`: locks the business keys of these runs before the runs (R24), see `LockedSession.keyHolders`.
   * `skipLocked`: runs that somebody else holds are not waited for (R7), see `LockedSession.skipped`.
   */
  withLockedRuns<T>(
    refs: readonly RunRef[],
    work: (session: LockedSession) => Promise<T>,
    options?: LockOptions,
  ): Promise<T>;

  /**
   * R6: after a connection lost during COMMIT. Locks the rows on a new connection (waiting for the old backend)
   * and says which runs carry this batch id in last_commit.
   */
  committedRuns(batchId: string, refs: readonly RunRef[]): Promise<ReadonlySet<string>>;

  /** R9, R10: set-based, on task rows alone, SKIP LOCKED (skipped = RETRY). Answers in the order of the calls. */
  acquire(calls: readonly AcquireLease[]): Promise<readonly AcquireAnswer[]>;
  heartbeat(calls: readonly HeartbeatCall[]): Promise<readonly HeartbeatAnswer[]>;

  /**
   * Library mode (R29): leases tasks of route local that are SCHEDULED, not leased and not cut off, of open runs of these
   * definition versions and queues, oldest dispatch first, at most `limit`; on task rows alone, SKIP LOCKED (R9). The same
   * owner and call id get the same leases again while they last, and nothing else.
   */
  claim(call: ClaimTasks): Promise<readonly LeasedTask[]>;
  /** What `claim` would choose from, without locks or leases. */
  claimable(
    namespace: string,
    definitions: readonly ClaimableDefinition[],
    limit: number,
  ): Promise<readonly ClaimableTask[]>;

  /** Text of a definition version; deleted ones still load. undefined = no such version. */
  loadDefinition(namespace: string, id: string, version: number): Promise<string | undefined>;
  deployedVersion(namespace: string, id: string): Promise<number | undefined>;

  /** R8: decide threw on this run. */
  flagStuck(ref: RunRef, reason: string): Promise<void>;
  /** R21: firing this timer failed: push due_at with backoff; answers how often it has failed by now. */
  pushTimer(namespace: string, runId: string, timerId: string): Promise<number>;
  /** The same for a task's wake_at. The count starts anew with each decision on the wake-up. */
  pushWake(namespace: string, runId: string, taskId: string): Promise<number>;

  getRun(namespace: string, runId: string, withPayloads: boolean): Promise<RunDetails | undefined>;
  listRuns(query: ListRuns): Promise<RunPage>;
  history(namespace: string, runId: string, afterSeq: number, limit: number): Promise<readonly JournalView[]>;
  /** Status of runs that somebody waits for. */
  statuses(refs: readonly RunRef[]): Promise<ReadonlyMap<string, RunStatus>>;

  close(): Promise<void>;
}

/** A run as it was read: what `decide` works on, and what lies outside the run's version (R9). */
export interface StoredRun {
  readonly state: RunState;
  /** lease_id of every leased row, by task id. Compared with a report's; never cached with the state. */
  readonly leaseIds: ReadonlyMap<string, string>;
  /** Of the start; null where there was none. Goes on with every outbox row. */
  readonly traceparent: string | null;
}

/** The run that a business key names now. */
export interface KeyHolder {
  readonly runId: string;
  readonly status: RunStatus;
}

export interface LockOptions {
  readonly keysFirst?: boolean;
  readonly skipLocked?: boolean;
}

export interface LockedSession {
  readonly runs: ReadonlyMap<string, StoredRun>;
  /** Runs that are there and are not locked: nothing can be said of them here. */
  readonly skipped: ReadonlySet<string>;
  /** With `keysFirst`: by run id, the other run that its business key names by now. Absent = its own, or no key. */
  readonly keyHolders: ReadonlyMap<string, KeyHolder>;
  /** Points the business keys of these runs back at them. Only for keys that are locked and held by a terminal run. */
  takeKeys(refs: readonly RunRef[]): Promise<void>;
  readNeeds(requests: readonly NeedsRequest[]): Promise<ReadonlyMap<string, Loaded>>;
  readCommands(refs: readonly CommandRef[]): Promise<ReadonlyMap<string, StoredCommand>>;
  write(batch: WriteBatch): Promise<WriteResult>;
}

export interface RunRef {
  readonly namespace: string;
  readonly runId: string;
}

export interface NeedsRequest extends RunRef {
  readonly needs: Needs;
}

export interface CommandRef extends RunRef {
  readonly commandId: string;
}

export interface StoredCommand {
  readonly requestHash: string;
}

/** Key of `readCommands`'s answer. */
export function commandKey(runId: string, commandId: string): string {
  return `${runId}:${commandId}`;
}

export interface WriteBatch {
  /** Stamped on every run row (R6). */
  readonly batchId: string;
  readonly runs: readonly RunWrite[];
}

export interface WriteResult {
  readonly held: ReadonlySet<string>;
}

/** Net effect of one or more events on one run: at most one write for each row (R2). */
export interface RunWrite extends RunRef {
  /** The version that the decision was made on; the write makes it `expectedVersion + 1`. */
  readonly expectedVersion: number;
  /** Final values of the run row. */
  readonly run: RunRowWrite;
  readonly tasks: readonly TaskWrite[];
  readonly journal: readonly JournalWrite[];
  readonly outbox: readonly OutboxWrite[];
  readonly signals: readonly SignalWrite[];
  readonly timers: readonly TimerWrite[];
  readonly clearTimers: readonly TimerClear[];
  readonly commands: readonly { readonly commandId: string; readonly requestHash: string }[];
  /** New input or final output of the run (run_payloads). */
  readonly payloads: { readonly input?: JsonText; readonly output?: JsonText };
}

export interface RunRowWrite {
  readonly definitionVersion: number;
  readonly status: RunStatus;
  readonly cause: RunCause | null;
  readonly undo: UndoResult;
  readonly epoch: number;
  readonly journalSeq: number;
  readonly outboxSeq: number;
  readonly bufferedSignals: number;
  readonly failure: Failure | null;
}

/**
 * One write to one task row. `state` holds the final values of the versioned columns.
 * insert: the row must not exist. update: fenced on `fence.attempt` and `fence.generation`.
 */
export interface TaskWrite {
  readonly op: 'insert' | 'update';
  readonly state: TaskState;
  /** update: as loaded. */
  readonly fence: { readonly attempt: number } | null;
  /**
   * The row's lease is still the one that was seen; null = still none. R9: the write that ends an attempt by time repeats
   * also that its instant has passed. R30: a decision that was made without locks repeats every lease that it saw.
   */
  readonly leaseFence: {
    readonly leaseId: string | null;
    readonly passed: 'lease' | 'start-to-close' | 'schedule-to-close' | 'cut-off' | null;
  } | null;
  readonly queue: string | null;
  readonly handler: string | null;
  /** undefined = leave the column as it is. */
  readonly input?: JsonText | null;
  readonly output?: JsonText | null;
  /**
   * What becomes of lease and wake-up columns:
   * dispatch: clear the lease; set dispatched_at, deadlines and wake_at of a new attempt.
   * backoff:  clear the lease; backoff_until = now + ms; wake_at = least(that, schedule_to_close_at).
   * close:    clear the lease and wake_at; settled_at = now.
   * cut-off:  keep the lease; cut_off_until = now + ms; wake_at = least(lease_expires_at, that).
   * rearm:    wake_at = least of the row's own instants that are still to come.
   * idle:     no lease, no wake_at (WAITING, PLANNED, SKIPPED, HELD).
   * keep:     leave them.
   */
  readonly wake:
    | { readonly kind: 'dispatch'; readonly deadlines: TaskDeadlines; readonly lease: NewLease | null }
    | { readonly kind: 'backoff'; readonly ms: number }
    | { readonly kind: 'close' }
    | { readonly kind: 'cut-off'; readonly ms: number }
    | { readonly kind: 'rearm' }
    | { readonly kind: 'idle' }
    | { readonly kind: 'keep' };
}

/** A lease taken by the write that creates the task (embedded runtime; next task in the answer). */
export interface NewLease {
  readonly leaseId: string;
  readonly owner: string;
  readonly ttlMs: number;
}

export type JournalWrite = Omit<Journal, 'type'> & { readonly epoch: number };

export interface OutboxWrite {
  readonly id: string;
  readonly runSeq: number;
  readonly topic: string;
  /** Debezium's columns: aggregatetype = 'run', aggregateid = run id. */
  readonly type: string;
  readonly payload: JsonText;
  readonly traceparent: string | null;
  /** hash(run_id) & 255. */
  readonly shard: number;
}

export interface SignalWrite {
  readonly op: 'insert-buffered' | 'insert-consumed' | 'consume';
  readonly signalId: string;
  readonly name: string;
  readonly payload: JsonText | null;
  readonly payloadHash: string | null;
  readonly expiresInMs: number | null;
  readonly consumedBy: string | null;
  /** Journal seq of its arrival: FIFO order. */
  readonly seq: number;
}

export interface TimerWrite {
  readonly timerId: string;
  readonly kind: TimerKind;
  readonly nodeId: string | null;
  readonly generation: number;
  readonly afterMs: number;
  readonly from: 'now' | 'run-start';
}

export type TimerClear =
  | { readonly scope: 'all' }
  | { readonly scope: 'kind'; readonly kind: TimerKind }
  | { readonly scope: 'node'; readonly nodeId: string }
  | { readonly scope: 'id'; readonly timerId: string };

export interface StartBatch {
  readonly batchId: string;
  readonly starts: readonly RunStartWrite[];
  /**
   * R30: rejects with a lock timeout (`transient`, 55P03) as soon as a key turns out to be held by somebody. false: it
   * waits for such a key, and whatever else the store is asked for must not wait with it, for a connection neither.
   */
  readonly isImpatient?: boolean;
}

/** A new run with the net effect of RunStarted. `write.expectedVersion` is 0. */
export interface RunStartWrite {
  readonly write: RunWrite;
  readonly definitionId: string;
  readonly route: Route;
  readonly input: JsonText | null;
  /** null = now. Milliseconds since 1970. */
  readonly startedAtMs: number | null;
  readonly traceparent: string | null;
  /** sha256 over canonical JSON of input plus definition and version (R24). */
  readonly requestHash: string;
  readonly idempotencyKey: string | null;
  readonly businessKey: string | null;
  /** The caller chose the run id: an existing row with it is compared, not an error. */
  readonly clientRunId: boolean;
}

export interface StartResult {
  readonly created: ReadonlySet<string>;
  /** By the run id that was asked for: what stands in the way. */
  readonly existing: ReadonlyMap<string, ExistingStart>;
}

export interface ExistingStart {
  readonly reason: 'idempotency-key' | 'business-key' | 'run-id';
  readonly runId: string;
  readonly requestHash: string;
  readonly status: RunStatus;
}

/** R1: the write named these runs: their rows were not as the decision saw them. Nothing was written. */
export class FenceMissError extends Error {
  constructor(readonly runIds: readonly string[]) {
    super(`fence miss: ${runIds.join(', ')}`);
    this.name = 'FenceMissError';
  }
}

/** What went wrong in the database, and what the engine may do about it (R5, R6, R8). */
export class StoreError extends Error {
  constructor(
    /**
     * transient: nothing was written, repeat the batch (serialization, deadlock, lost connection before COMMIT).
     * unknown-commit: the connection broke while COMMIT was under way (R6).
     * data: SQL classes 22, 23, 54: what a caller sent cannot be stored; found by bisection (R5, R8).
     * unavailable: everything else; alarms.
     */
    readonly kind: 'transient' | 'unknown-commit' | 'data' | 'unavailable',
    message: string,
    readonly sqlState?: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'StoreError';
  }
}
