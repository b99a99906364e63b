import type { JsonText } from '@baton/core';
import { LONGEST_MS, type RetrySettings } from './read-policies.js';
import type { ReadStep, TaskStep, WaitStep } from './read-steps.js';

/** A saga with everything decided: what the definition is made of. */
export interface ReadSaga {
  readonly id: string;
  readonly version: number;
  /** JSON Schema; undefined = any JSON. */
  readonly inputSchema: object | undefined;
  readonly timeoutMs: number | undefined;
  readonly compensationTimeoutMs: number | undefined;
  readonly compensation: 'sequential' | 'parallel';
  readonly steps: readonly ReadStep[];
}

/** Queue names have no '_'. Two ids may share a queue: whoever claims matches id and version too (R29). */
export function queueOf(sagaId: string): string {
  return sagaId.replaceAll('_', '-');
}

/** Handler of a step's undo. Step names hold no dot, so no step is called so. */
export function undoHandlerOf(step: string): string {
  return `${step}.undo`;
}

/**
 * The Baton definition of a saga, as JSON text: the same text for the same saga. It runs unchanged in both modes, so a
 * task's input carries what the step's context gives: the input of the run and the outputs of all steps before.
 */
export function compileSaga(saga: ReadSaga): JsonText {
  const ancestors = ancestorsOf(saga.steps);
  const queue = queueOf(saga.id);
  return JSON.stringify({
    id: saga.id,
    version: saga.version,
    ...(saga.inputSchema !== undefined && { input: saga.inputSchema }),
    ...(saga.timeoutMs !== undefined && { deadline: iso(saga.timeoutMs), onDeadline: 'compensate' }),
    compensation: saga.compensation,
    ...(saga.compensationTimeoutMs !== undefined && { compensationTimeout: iso(saga.compensationTimeoutMs) }),
    nodes: saga.steps.map((step) =>
      step.kind === 'wait' ? waitNode(step) : taskNode(step, queue, ancestors.get(step.name) ?? []),
    ),
    output: outputOf(saga.steps),
  });
}

function waitNode({ name, after, signal, timeoutMs }: WaitStep): object {
  return {
    id: name,
    type: 'wait',
    ...(after.length > 0 && { after }),
    signal,
    ...(timeoutMs !== undefined && { timeout: iso(timeoutMs) }),
  };
}

function taskNode({ name, after, retry, timeoutMs, undo }: TaskStep, queue: string, above: readonly string[]): object {
  return {
    id: name,
    type: 'task',
    queue,
    task: name,
    ...(after.length > 0 && { after }),
    input: { input: '${input}', outputs: Object.fromEntries(above.map((other) => [other, outputExpression(other)])) },
    retry: retryPolicy(retry),
    timeouts: timeouts(timeoutMs),
    // Its input is the default of an undo: what the step got, and what it returned.
    ...(undo !== null && {
      compensate: { task: undoHandlerOf(name), retry: retryPolicy(undo.retry), timeouts: timeouts(undo.timeoutMs) },
    }),
  };
}

/** What a step after all the others would get as `previous`. */
function outputOf(steps: readonly ReadStep[]): unknown {
  const inner = new Set(steps.flatMap(({ after }) => after));
  const last = steps.map(({ name }) => name).filter((name) => !inner.has(name));
  const [only] = last;
  if (only !== undefined && last.length === 1) return outputExpression(only);
  return Object.fromEntries(last.map((name) => [name, outputExpression(name)]));
}

function outputExpression(step: string): string {
  return `\${nodes["${step}"].output}`;
}

function retryPolicy({ maxAttempts, baseMs, maxMs, nonRetryable }: RetrySettings): object {
  return {
    maxAttempts,
    initialInterval: iso(baseMs),
    backoff: 2,
    maxInterval: iso(maxMs),
    // [0.8 d, d]
    jitter: 0.2,
    nonRetryable,
  };
}

/** A lease lasts as long as its holder asks, and this at most (R14): in the embedded mode the runtime's setting decides. */
const LONGEST_LEASE = 'PT1H';

function timeouts(startToCloseMs: number = LONGEST_MS): object {
  return { startToClose: iso(startToCloseMs), heartbeat: LONGEST_LEASE };
}

/** Exact to the millisecond, and the only way to write it. */
function iso(ms: number): string {
  const fraction = ms % 1_000;
  const whole = (ms - fraction) / 1_000;
  return fraction === 0 ? `PT${whole}S` : `PT${whole}.${String(fraction).padStart(3, '0')}S`;
}

/** All steps before each one, in the order in which they are written. */
function ancestorsOf(steps: readonly ReadStep[]): ReadonlyMap<string, readonly string[]> {
  const direct = new Map(steps.map(({ name, after }) => [name, after]));
  return new Map(
    steps.map(({ name }) => {
      const above = new Set(direct.get(name));
      for (const other of above) for (const next of direct.get(other) ?? []) above.add(next);
      return [name, steps.map((step) => step.name).filter((other) => above.has(other))];
    }),
  );
}
