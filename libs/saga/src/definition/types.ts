/** What authors write. Everything here is plain data and functions; `defineSaga` checks it. */

/** Milliseconds, or an ISO 8601 duration such as `PT30S`. A time limit is left out or greater than 0. */
export type Duration = number | string;

/** Field by field: the step's, then the saga's, then 1 attempt, 100 ms, 30 s. The wait doubles, jittered into [0.8 d, d]. */
export interface RetryPolicy {
  /** Counts the first try; 1 or more. */
  readonly maxAttempts?: number;
  /** 0 = the next try at once. */
  readonly baseInterval?: Duration;
  /** Not less than the base interval. */
  readonly maxInterval?: Duration;
  /** Failure codes that no retry can repair. Default `['TIMEOUT']`: a step that took too long is not run again. */
  readonly nonRetryable?: readonly string[];
}

/** Outputs of steps by name. */
export type Outputs = Record<string, unknown>;

interface AttemptContext<I, O> {
  /** Id of the saga's run. */
  readonly runId: string;
  readonly sagaId: string;
  readonly sagaVersion: number;
  /** Name of the step. */
  readonly step: string;
  readonly input: I;
  /** Outputs of the steps that come before this one, directly or not. */
  readonly outputs: Readonly<Partial<O>>;
  /** From 1; rises with every try, also after a crash. */
  readonly attempt: number;
  /**
   * The same for every attempt of this step of this run: hand it to the systems that you call. Steps run at least
   * once: a crash after the work and before its record runs them again.
   */
  readonly idempotencyKey: string;
  /** Aborted when the lease is lost, the run no longer wants the step, its timeout passes or the process stops. */
  readonly signal: AbortSignal;
  /** The lease is renewed without it. Leaves progress (JSON, at most 16 KiB) for the next attempt. */
  heartbeat(progress?: unknown): void;
  /** What the last attempt left; undefined = nothing. */
  readonly lastProgress: unknown;
}

export interface StepContext<I = unknown, O = Outputs> extends AttemptContext<I, O> {
  /** Output of the one step that comes directly before; null for the first, an object by name after a parallel group. */
  readonly previous: unknown;
}

/** No access to an outbox or a transaction, on purpose: an undo is idempotent and reverses its own step alone. */
export interface CompensateContext<I = unknown, O = Outputs, Own = unknown> extends AttemptContext<I, O> {
  /** What the step returned; null if that is not known (its attempt was lost, or its result could not be kept). */
  readonly output: Own | null;
}

export interface StepDefinition<I, O, N extends keyof O & string = keyof O & string> {
  /** `[A-Za-z][A-Za-z0-9_-]{0,63}`, unique in the saga. Runs in flight know their steps by name. */
  readonly name: N;
  /** Does the work. What it returns is the step's output (JSON); what it throws is its failure. */
  readonly run: (context: StepContext<I, O>) => O[N] | Promise<O[N]>;
  /** Undoes it. Must be idempotent. */
  readonly compensate?: (context: CompensateContext<I, O, O[N]>) => unknown;
  /** Longest time of one attempt; then it fails with TIMEOUT. */
  readonly timeout?: Duration;
  readonly retry?: RetryPolicy;
  /** Of the undo. Default 10 attempts from 1 s to 1 min, and the step's timeout. */
  readonly compensateRetry?: RetryPolicy;
  readonly compensateTimeout?: Duration;
  /** Names of the steps that come first. Default: the step written before. `[]` = starts with the run. */
  readonly after?: readonly (keyof O & string)[];
}

/** Waits for a signal by name; its payload is the step's output. */
export interface SignalStep<O> {
  readonly name: keyof O & string;
  readonly waitFor: string;
  /** Then the step fails with WAIT_TIMEOUT. */
  readonly timeout?: Duration;
  readonly after?: readonly (keyof O & string)[];
}

export type AnyStep<I, O> = { [N in keyof O & string]: StepDefinition<I, O, N> }[keyof O & string] | SignalStep<O>;

export interface SagaOptions<I, O> {
  /** `[a-z0-9_-]+`, at most 63 characters. */
  readonly id: string;
  /** Raise it with every change of the steps; runs in flight stay with theirs. Default 1. */
  readonly version?: number;
  /** JSON Schema of the input, checked at the start. Default: any JSON. */
  readonly input?: object;
  /** Longest time of the whole run, from its start. Then what was done is undone and the run ends `expired`. */
  readonly timeout?: Duration;
  /** Longest time of the undo; then the run ends `compensation_failed`. */
  readonly compensationTimeout?: Duration;
  /** How independent undos run. Default `sequential`: strictly in reverse. */
  readonly compensation?: 'sequential' | 'parallel';
  readonly retry?: RetryPolicy;
  readonly steps: readonly AnyStep<I, O>[];
}
