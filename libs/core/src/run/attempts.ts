import type { EndedBy } from './actions.js';
import { backoffMs, deadlinesOf, executionOf } from './policy.js';
import type { Failure, JsonText, TaskState } from './state.js';
import type { Transition } from './transition.js';

export interface Dispatch {
  readonly input: JsonText;
  readonly redispatches: number;
  readonly restartScheduleToClose?: true;
}

/** Hands out the next attempt. R11: the number rises at each dispatch and over all generations. */
export function dispatchTask(t: Transition, taskId: string, dispatch: Dispatch): void {
  const task = t.task(taskId);
  const { queue, handler, timeouts } = executionOf(t.dag, task);
  const deadlines = deadlinesOf(timeouts, dispatch.redispatches, t.state.route);
  t.apply({
    type: 'DispatchTask',
    taskId,
    nodeId: task.nodeId,
    item: task.item,
    kind: task.kind,
    generation: task.generation,
    attempt: t.rows.nextAttempt(task),
    queue,
    handler,
    input: dispatch.input,
    deadlines: dispatch.restartScheduleToClose === true ? { ...deadlines, restartScheduleToClose: true } : deadlines,
    redispatches: dispatch.redispatches,
  });
  t.journal(dispatch.redispatches > 0 ? 'task.redispatched' : 'task.scheduled', {}, t.task(taskId));
}

/** The next attempt of a task that had one: its input is on the row. */
export function dispatchAgain(t: Transition, taskId: string, redispatches: number): void {
  const input = t.inputOf(taskId);
  if (input === undefined) return; // asked for
  if (input === null) throw new Error(`task ${taskId} was dispatched without an input`);
  dispatchTask(t, taskId, { input, redispatches });
}

/**
 * R17: may the step have had an effect, as far as its ended attempts tell? A worker that asked to be called again later
 * said that it is not done, and that stays so until a later attempt says how it ended.
 */
export function isOutcomeOpen(task: TaskState): boolean {
  return task.unknownOutcome || task.failure?.code === DEFERRED;
}

const WITHOUT_RESULT: ReadonlySet<string> = new Set(['OUTPUT_INVALID', 'REPORT_REJECTED', 'TIMEOUT']);

/**
 * The worker's code ran, and there is no result: it is no JSON, too large, refused by the database, or did not come within
 * the timeout. What it did stands, so the step counts as UNKNOWN for its undo, as when the engine ends it by the same
 * timeout.
 */
export function ranWithoutResult(failure: Failure): boolean {
  return WITHOUT_RESULT.has(failure.code);
}

/** Code of an attempt that its worker wants to have again later. */
export const DEFERRED = 'DEFERRED';

/** How an attempt ended without success. */
export interface AttemptEnd {
  readonly failure: Failure;
  /** Status of the task if this was its last attempt. */
  readonly status: 'FAILED' | 'TIMED_OUT';
  /** null = no report of a worker closed it. */
  readonly reportHash: string | null;
  /** R17: of the attempt's end, together with what earlier attempts left. */
  readonly unknownOutcome: boolean;
  /** R11: does it count as a failure of the step, or as a loss of its worker? */
  readonly counts: 'failure' | 'loss';
  readonly retryable: boolean;
  readonly endedBy?: EndedBy;
}

/** Ends an attempt: another one follows by policy ('continues'), or the task is over ('over'). */
export function endAttempt(t: Transition, task: TaskState, end: AttemptEnd, maxLosses: number): 'continues' | 'over' {
  const { retry } = executionOf(t.dag, task);
  const failures = task.failures + (end.counts === 'failure' ? 1 : 0);
  const losses = task.losses + (end.counts === 'loss' ? 1 : 0);
  const allowed = end.counts === 'loss' ? losses < maxLosses : failures < retry.maxAttempts;
  const { failure, reportHash, unknownOutcome } = end;
  const ended = {
    taskId: task.taskId,
    nodeId: task.nodeId,
    attempt: task.attempt,
    failure: { ...failure, nodeId: task.nodeId },
    reportHash,
    unknownOutcome,
    failures,
    losses,
    ...(end.endedBy === undefined ? {} : { endedBy: end.endedBy }),
  };
  if (!end.retryable || !allowed || retry.nonRetryable.includes(failure.code)) {
    t.apply({ ...ended, type: 'FailTask', status: end.status });
    return 'over';
  }
  // A lost worker says nothing about the step: its next attempt goes out at once.
  const pauseMs = end.counts === 'loss' ? 0 : backoffMs(retry, failures, t.env.random());
  t.apply({ ...ended, type: 'RetryTask', backoffMs: pauseMs });
  const kind = end.counts === 'loss' ? 'task.lease_lost' : 'task.retry_scheduled';
  t.journal(kind, { code: failure.code, detail: failure.message }, t.task(task.taskId));
  if (pauseMs === 0) dispatchAgain(t, task.taskId, 0);
  return 'continues';
}
