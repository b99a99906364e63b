import type { DecideEnv, Decision, Dag, Journal, JsonText, Route, RunEvent, RunState, TaskKind } from '@baton/core';
import type { ReportOutcome, RunStatus, TemplateCompiler } from '@baton/core';
import type { ReportStatus } from './api.js';
import type { RunRef, Store } from './ports.js';

/** The state machine, as core has it. Given from outside only by tests that need it to fail. */
export type Decide = (dag: Dag, run: RunState, event: RunEvent, env: DecideEnv) => Decision;

/** Checks JSON text against a JSON Schema (also as text). An empty answer = valid. */
export interface JsonSchemaValidator {
  validate(schema: JsonText, value: JsonText): readonly SchemaIssue[];
}

export interface SchemaIssue {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** What bounds one batch of a lane (R5) and what waits in front of it. */
export interface EngineLimits {
  readonly batchEvents: number;
  /** Rows that the write of one batch may touch; the events after that wait for the next one. */
  readonly batchRows: number;
  /** Payload text of one batch, in UTF-16 units. */
  readonly batchBytes: number;
  /** Runs that one lock-first transaction holds. */
  readonly lockedRuns: number;
  /** Calls that may wait in one lane; more are refused with UNAVAILABLE. */
  readonly queuedCalls: number;
  /** Payload text that may wait in one lane, in UTF-16 units. */
  readonly queuedBytes: number;
  /** Repeats of a batch after a transient error, before its callers hear UNAVAILABLE (R5). */
  readonly transientRepeats: number;
  /** First pause before a repeat; doubles. */
  readonly transientPauseMs: number;
  /** How long to ask for the outcome of an unknown COMMIT (R6). */
  readonly unknownCommitMs: number;
  /** Failed firings of one timer, or of one task's wake-up, after which its run is flagged stuck (R21). */
  readonly timerFailures: number;
  /** Text of the definition versions that are kept parsed, in UTF-16 units. */
  readonly definitionChars: number;
  /** Memory for cached run states; 0 = no cache. */
  readonly cachedStateBytes: number;
}

export const defaultLimits: EngineLimits = {
  batchEvents: 256,
  batchRows: 4_000,
  batchBytes: 8 * 1024 * 1024,
  lockedRuns: 64,
  queuedCalls: 20_000,
  queuedBytes: 64 * 1024 * 1024,
  transientRepeats: 6,
  transientPauseMs: 10,
  unknownCommitMs: 30_000,
  timerFailures: 10,
  definitionChars: 8 * 1024 * 1024,
  cachedStateBytes: 24 * 1024 * 1024,
};

/** Called after the commit that they tell of, never before (I13). They must not throw; if they do, nothing breaks. */
export interface EngineHooks {
  readonly onCommit?: (commit: CommitFacts) => void;
  readonly onStarted?: (run: RunFacts) => void;
  readonly onRunEnded?: (run: RunFacts) => void;
  readonly onTaskDispatched?: (task: TaskFacts) => void;
  readonly onTaskSettled?: (task: TaskFacts & { readonly status: string; readonly code: string | null }) => void;
  readonly onTaskRetried?: (task: TaskFacts & { readonly backoffMs: number; readonly code: string }) => void;
  readonly onReport?: (report: { readonly status: ReportStatus; readonly outcome: ReportOutcome }) => void;
  readonly onLeases?: (leases: { readonly call: 'acquire' | 'heartbeat'; readonly answers: readonly string[] }) => void;
  /** R8: the run needs a person. */
  readonly onStuck?: (ref: RunRef, reason: string) => void;
  /** R5, R8: how a statement failed. `unavailable` is what alarms. */
  readonly onStoreError?: (failure: { readonly kind: string; readonly error: unknown }) => void;
}

export interface CommitFacts {
  readonly way: 'start' | 'optimistic' | 'lock-first';
  readonly events: number;
  readonly runs: number;
  /** Runs that were locked or had moved, and are decided again. */
  readonly missed: number;
  readonly durationMs: number;
}

export interface RunFacts extends RunRef {
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly status: RunStatus;
  readonly epoch: number;
  readonly code: string | null;
}

export interface TaskFacts extends RunRef {
  readonly definitionId: string;
  readonly taskId: string;
  readonly nodeId: string;
  readonly kind: TaskKind;
  readonly attempt: number;
}

/** How published journal rows are named and told. Where one of these throws, the default is used for that event. */
export interface EventNames {
  topic(namespace: string): string;
  /** `run` is the run after the decision that the row tells of. */
  describe(run: RunState, journal: Journal): { readonly type: string; readonly payload: JsonText };
}

export interface EngineOptions {
  readonly store: Store;
  readonly templates: TemplateCompiler;
  /** Checks the input of a run against the definition's JSON Schema. */
  readonly schemas: JsonSchemaValidator;
  /** Fresh UUIDv7. */
  readonly newId: () => string;
  /** Hex digest (sha256) of UTF-8 text. */
  readonly hash: (text: string) => string;
  /** In [0, 1). */
  readonly random: () => number;
  /** Wall clock in ms: the window of a client's run ids and start times, and durations in metrics. Never decides (R27). */
  readonly now: () => number;
  /** Where tasks of new runs are dispatched (R29). Default kafka. */
  readonly route?: Route;
  /** One per two cores of the process (ADR 0001). Default 1. */
  readonly lanes?: number;
  readonly limits?: Partial<EngineLimits>;
  readonly hooks?: EngineHooks;
  /** Default: topic `baton.<namespace>.events`, type = the kind of the journal row. */
  readonly events?: EventNames;
  /**
   * R30: `single-statement` keeps no transaction open over a turn of the event loop, which user code may block in the
   * embedded runtime. Decisions on leases then read without locks, and their write repeats what they saw. Excepted are
   * retries of runs with a business key and contested keyed starts. Default `allowed`.
   */
  readonly transactions?: 'allowed' | 'single-statement';
  /** How often the shared poller looks for results that another process committed. Default 500 ms. */
  readonly resultPollMs?: number;
  readonly decide?: Decide;
}
