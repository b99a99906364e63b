import type { TaskKind } from '@baton/core';
import type { WorkerLogger } from './logger.js';

/** What a handler gets. One for each attempt. */
export interface TaskContext {
  readonly runId: string;
  readonly taskId: string;
  readonly nodeId: string;
  /** Index of a map's item; 0 for every other node. */
  readonly item: number;
  /** `compensate`: undo what the forward step did; its input is {"input": …, "output": …} unless the definition says otherwise. */
  readonly kind: TaskKind;
  readonly generation: number;
  /** From 1; rises with every dispatch. The fencing token. */
  readonly attempt: number;
  /** The same for every attempt of this step: hand it to the systems that you call. */
  readonly idempotencyKey: string;
  readonly queue: string;
  readonly handler: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  /** The input as it was sent, byte for byte: integers beyond 2^53, key order and spaces survive. */
  readonly inputText: string;
  /** Parsed on the first call. The type is the handler's own claim. */
  input<T = unknown>(): T;
  /** What the last attempt left with `heartbeat(progress)`; undefined = nothing. */
  lastProgress<T = unknown>(): T | undefined;
  /** Aborted when the lease is lost, the run no longer wants the step, startToClose passes or the worker stops. */
  readonly signal: AbortSignal;
  /** The lease is renewed without it. It carries progress (at most 16 KiB of JSON) to the next attempt. */
  heartbeat(progress?: unknown): void;
  readonly log: WorkerLogger;
}

/**
 * Does the work of one attempt. The value that it returns (or resolves with) is the step's output; what it throws is
 * the step's failure. It may run more than once for one step, so it uses `idempotencyKey`.
 */
export type TaskHandler = (context: TaskContext) => unknown;
