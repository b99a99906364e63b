import type { JsonText } from '@baton/core';
import type { CompensateContext, Outputs, SagaOptions, StepContext } from './types.js';

/** Types of a saga's input and outputs. There is no such property. */
declare const TYPES: unique symbol;

/**
 * A checked saga, made by `defineSaga` and frozen to its depth. The type parameters only speak to the compiler: `I` is
 * its input, `O` the outputs of its steps by name. Any saga is a `Saga`.
 */
export interface Saga<I = unknown, O = unknown> {
  readonly [TYPES]?: { readonly input: I; readonly outputs: O };
  readonly id: string;
  readonly version: number;
  /** As they were written; a copy. */
  readonly options: SagaOptions<unknown, Outputs>;
  /** The Baton definition that it compiles to; the same text for the same saga, functions aside. */
  readonly spec: JsonText;
  /** Tasks of its runs carry it; derived from the id. */
  readonly queue: string;
  /** By step name. */
  readonly steps: ReadonlyMap<string, SagaStep>;
}

/** One step as the executor sees it. */
export interface SagaStep {
  readonly name: string;
  /** Index in the definition. */
  readonly index: number;
  /** Steps directly before it. */
  readonly after: readonly string[];
  /** null: it waits for a signal, and no process runs it. */
  readonly run: ((context: StepContext) => unknown) | null;
  readonly compensate: ((context: CompensateContext) => unknown) | null;
}

/** The seed's resolver, with the version that a run is pinned to. */
export interface SagaResolver {
  /** Without a version: the newest. undefined = unknown here; the run stays claimable for others. */
  resolve(id: string, version?: number): Saga | undefined;
  /** Everything there is. */
  all(): readonly Saga[];
}
