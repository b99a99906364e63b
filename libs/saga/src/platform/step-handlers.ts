import {
  AttemptAborted,
  NonRetryableError,
  rawJson,
  retryLater,
  TaskError,
  verdictOfError,
  verdictOfResult,
  type FailureVerdict,
} from '@baton/execution';
import type { TaskContext, TaskHandler } from '@baton/worker';
import { undoHandlerOf } from '../definition/compile-saga.js';
import type { SagaResolver, SagaStep } from '../definition/saga.js';
import { compensateContext, stepContext } from '../executor/context.js';
import { cutBytes, MAX_REASON_BYTES, sagaRules } from '../executor/outcome.js';
import { stepFields } from '../executor/step-fields.js';
import type { ClaimedStep } from '../journal/ports.js';
import type { SagaLogger } from '../observe/observer.js';

/** How long a step of a version that this process does not have waits for a process that has it. Milliseconds. */
const NOT_OURS_MS = 5_000;

/**
 * The steps of sagas as handlers of a worker, by name. Sagas may share a queue and step names: which saga a task is of is
 * looked up by id and version (W12).
 */
export function handlersOf(sagas: SagaResolver, logger: SagaLogger): Readonly<Record<string, TaskHandler>> {
  const handlers = new Map<string, TaskHandler>();
  const handler: TaskHandler = (task) => callStep(task, sagas, logger);
  for (const saga of sagas.all()) {
    for (const { name, run, compensate } of saga.steps.values()) {
      if (run !== null) handlers.set(name, handler);
      if (compensate !== null) handlers.set(undoHandlerOf(name), handler);
    }
  }
  return Object.fromEntries(handlers);
}

/** One attempt: the same contexts, and the same record of what it came to, as in the embedded mode. */
async function callStep(task: TaskContext, sagas: SagaResolver, logger: SagaLogger): Promise<unknown> {
  const claimed = claimedOf(task);
  const step = sagas.resolve(task.definitionId, task.definitionVersion)?.steps.get(task.nodeId);
  const code = step === undefined ? null : userCode(step, claimed, task);
  // W12: not a failure. Another process of the fleet has this version.
  if (code === null) return retryLater(NOT_OURS_MS);
  let value: unknown;
  try {
    value = await code();
  } catch (thrown) {
    const { reason } = task.signal as { readonly reason: unknown };
    const verdict = verdictOfError(thrown, reason instanceof AttemptAborted ? reason.code : undefined, sagaRules);
    if (verdict.kind !== 'failed') throw thrown;
    throw failureOf(verdict, thrown, claimed, logger);
  }
  return recorded(value, claimed, logger);
}

function userCode(step: SagaStep, claimed: ClaimedStep, task: TaskContext): (() => unknown) | null {
  const { run, compensate } = step;
  if (claimed.kind === 'forward') return run && (() => run(stepContext(claimed, step, task)));
  return compensate && (() => compensate(compensateContext(claimed, step, task)));
}

/** What a step returned, as JSON text; what an undo returns nobody reads. */
function recorded(value: unknown, claimed: ClaimedStep, logger: SagaLogger): unknown {
  const verdict = verdictOfResult(value, sagaRules);
  if (verdict.kind === 'completed') return rawJson(verdict.output);
  if (verdict.kind !== 'failed') return value;
  if (claimed.kind === 'compensate') return null;
  throw failureOf(verdict, new Error(`a ${typeof value} that cannot be kept as JSON`), claimed, logger);
}

/** C21: everything that is known goes to the log here, and no more than the record may hold goes on. */
function failureOf(verdict: FailureVerdict, cause: unknown, claimed: ClaimedStep, logger: SagaLogger): TaskError {
  logger.warn({ ...stepFields(claimed), code: verdict.code, err: cause }, 'a step failed');
  const message = cutBytes(verdict.message, MAX_REASON_BYTES);
  return verdict.retryable ? new TaskError(verdict.code, message) : new NonRetryableError(verdict.code, message);
}

/** A task of the platform as a claim of the embedded mode brings it; what belongs to the lease is the worker's. */
function claimedOf(task: TaskContext): ClaimedStep {
  const { runId, taskId, nodeId, item, kind, generation, attempt, queue, handler } = task;
  const { definitionId, definitionVersion } = task;
  const progress = task.lastProgress();
  return {
    ...{ namespace: '', runId, taskId, nodeId, item, kind, generation, attempt, failures: 0, queue, handler },
    ...{ definitionId, definitionVersion, epoch: 0, traceparent: null, leaseId: '', ttlMs: 0, startToCloseMs: null },
    input: task.inputText,
    ...(progress !== undefined && { progress: JSON.stringify(progress) }),
  };
}
