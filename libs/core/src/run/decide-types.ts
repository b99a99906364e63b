import type { Action } from './actions.js';
import type { JsonText, RunState } from './state.js';

/** What the caller gives to a decision besides state and event. No clock, no randomness of its own (I3). */
export interface DecideEnv {
  /** Fresh ids (UUIDv7), in order of use. The same env gives the same transition. */
  readonly newId: () => string;
  /** In [0, 1): jitter of backoffs. */
  readonly random: () => number;
  /** What earlier `needs` asked for. */
  readonly loaded: Loaded;
}

/** Facts about a task row that live outside the run's version; read under its row lock, compared by the database clock. */
export interface LeaseFacts {
  readonly leaseId: string | null;
  readonly leaseOwner: string | null;
  /** A lease was held and its expiry has passed. */
  readonly leaseExpired: boolean;
  readonly startToClosePassed: boolean;
  readonly scheduleToStartPassed: boolean;
  readonly scheduleToClosePassed: boolean;
  /** The redispatch guard's instant has passed (never leased). */
  readonly redispatchDue: boolean;
  /** status BACKOFF and its instant has passed. */
  readonly backoffOver: boolean;
  /** cutOff and its grace has passed. */
  readonly cutOffOver: boolean;
}

export interface TaskPayloads {
  readonly input: JsonText | null;
  readonly output: JsonText | null;
}

export interface BufferedSignal {
  readonly signalId: string;
  readonly name: string;
  readonly payload: JsonText;
  readonly payloadHash: string;
}

/** Answer to `needs`. A map that lacks a key that was asked for = the row does not exist. */
export interface Loaded {
  readonly runInput?: JsonText | null;
  /** By task id. */
  readonly payloads?: ReadonlyMap<string, TaskPayloads>;
  /** By task id; loading them takes the row locks (lock-first way in, R9). */
  readonly leases?: ReadonlyMap<string, LeaseFacts>;
  /** By signal name: buffered, unexpired, oldest first. */
  readonly signals?: ReadonlyMap<string, readonly BufferedSignal[]>;
  /** By signal id: known to this run already? With the hash of its payload. */
  readonly knownSignals?: ReadonlyMap<string, { readonly payloadHash: string }>;
  /** By timer id: the row as it stands. */
  readonly timers?: ReadonlyMap<string, TimerRow>;
  /** Buffered signals that have expired. */
  readonly expiredSignals?: readonly ExpiredSignal[];
}

export interface ExpiredSignal {
  readonly signalId: string;
  readonly name: string;
}

export interface TimerRow {
  readonly timerId: string;
  readonly kind: 'wait-timeout' | 'run-deadline' | 'compensation-timeout';
  readonly nodeId: string | null;
  readonly generation: number;
  /** due_at <= database now. Not due = early: ignored, the row stays. */
  readonly due: boolean;
}

export interface Needs {
  readonly runInput?: true;
  readonly payloads?: readonly string[];
  readonly leases?: readonly string[];
  readonly signals?: readonly string[];
  readonly knownSignals?: readonly string[];
  readonly timers?: readonly string[];
  readonly expiredSignals?: true;
}

/** Outcome of a worker's report (R14). All are acknowledged. */
export type ReportOutcome =
  'APPLIED' | 'APPLIED_CANCELLED' | 'DUPLICATE' | 'CONFLICT' | 'STALE' | 'NOT_FOUND' | 'REJECTED';

/** Refusals of commands: stable codes with text; the caller maps them to its protocol. */
export interface Refusal {
  readonly code:
    | 'RUN_TERMINAL'
    | 'NOT_RETRYABLE'
    | 'UNDONE_NODES'
    | 'UNRESOLVED_UNDO'
    | 'NODE_NOT_FOUND'
    | 'NODE_NOT_IN_VERSION'
    | 'NEW_NODE_UPSTREAM'
    | 'ALREADY_COMPENSATING'
    | 'NOTHING_TO_COMPENSATE'
    | 'SIGNAL_CONFLICT'
    | 'TOO_MANY_SIGNALS'
    | 'INPUT_INVALID';
  readonly message: string;
  readonly nodes?: readonly string[];
}

export type Decision =
  /** Ask again with these loaded (added to what is loaded already). */
  | { readonly kind: 'needs'; readonly needs: Needs }
  /** `state` = evolve(state, actions). `report` for worker reports, `delivered` for signals. */
  | {
      readonly kind: 'applied';
      readonly actions: readonly Action[];
      readonly state: RunState;
      readonly report?: ReportOutcome;
      readonly signalDelivered?: boolean;
    }
  /**
   * A stale event: nothing of the run changes. `actions` may only consume a timer (R21) or re-arm a wake-up.
   */
  | {
      readonly kind: 'ignored';
      readonly reason: string;
      readonly actions: readonly Action[];
      readonly state: RunState;
      readonly report?: ReportOutcome;
      readonly duplicate?: true;
    }
  /** A command that may not be done now. Commits nothing. */
  | { readonly kind: 'refused'; readonly refusal: Refusal };
