import { lazily } from '@baton/execution';
import type { JsonText } from '@baton/core';
import type { SagaStep } from '../definition/saga.js';
import type { CompensateContext, Outputs, StepContext } from '../definition/types.js';
import type { ClaimedStep } from '../journal/ports.js';

/** What an attempt can do to its lease. */
export interface AttemptHandle {
  readonly signal: AbortSignal;
  readonly heartbeat: (progress?: unknown) => void;
}

/** The same for every attempt of one execution of a step; the platform's messages have it too. */
export function idempotencyKeyOf({ runId, nodeId, item, kind, generation }: ClaimedStep): string {
  return `${runId}/${nodeId}/${item}/${kind}/${generation}`;
}

interface ForwardPayload {
  readonly input: unknown;
  readonly outputs: Outputs;
}

/**
 * What `run` gets. Payloads are parsed when user code first asks for them, and are frozen to their depth: a step that
 * changes what it was given must not change what the next reader sees. Its members are its own, so that a copy of a
 * context is a whole one.
 */
export function stepContext(claimed: ClaimedStep, step: SagaStep, handle: AttemptHandle): StepContext {
  const payload = lazily(() => forwardPayload(parseFrozen(claimed.input)));
  return {
    runId: claimed.runId,
    sagaId: claimed.definitionId,
    sagaVersion: claimed.definitionVersion,
    step: step.name,
    attempt: claimed.attempt,
    idempotencyKey: idempotencyKeyOf(claimed),
    heartbeat: handle.heartbeat,
    get signal() {
      return handle.signal;
    },
    get lastProgress() {
      return progressOf(claimed);
    },
    get input() {
      return payload().input;
    },
    get outputs() {
      return payload().outputs;
    },
    get previous() {
      return previousOf(step, payload().outputs);
    },
  };
}

/** What `compensate` gets: what the forward step had, and what it returned. */
export function compensateContext(claimed: ClaimedStep, step: SagaStep, handle: AttemptHandle): CompensateContext {
  const given = lazily(() => members(parseFrozen(claimed.input)));
  const forward = lazily(() => forwardPayload(given()['input']));
  return {
    runId: claimed.runId,
    sagaId: claimed.definitionId,
    sagaVersion: claimed.definitionVersion,
    step: step.name,
    attempt: claimed.attempt,
    idempotencyKey: idempotencyKeyOf(claimed),
    heartbeat: handle.heartbeat,
    get signal() {
      return handle.signal;
    },
    get lastProgress() {
      return progressOf(claimed);
    },
    get input() {
      return forward().input;
    },
    get outputs() {
      return forward().outputs;
    },
    get output() {
      return given()['output'] ?? null;
    },
  };
}

function forwardPayload(value: unknown): ForwardPayload {
  const { input, outputs } = members(value);
  return { input: input ?? null, outputs: members(outputs) };
}

function previousOf(step: SagaStep, outputs: Outputs): unknown {
  const [first] = step.after;
  if (first === undefined) return null;
  const valueOf = (name: string) => (Object.hasOwn(outputs, name) ? outputs[name] : null) ?? null;
  if (step.after.length === 1) return valueOf(first);
  return Object.freeze(Object.fromEntries(step.after.map((name) => [name, valueOf(name)])));
}

function progressOf({ progress }: ClaimedStep): unknown {
  return progress === undefined ? undefined : parseFrozen(progress);
}

/** Own members alone: no name of Object.prototype is an output. */
function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : NOTHING;
}

const NOTHING: Record<string, unknown> = Object.freeze({});

function parseFrozen(text: JsonText): unknown {
  return deepFreeze(JSON.parse(text) as unknown);
}

/** JSON nests at most 100 deep here, so recursion is safe. */
function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
