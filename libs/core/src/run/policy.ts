import type { Dag, RetryPolicy, TimeoutPolicy } from '../definition/model.js';
import type { TaskDeadlines } from './actions.js';
import type { Route, TaskState } from './state.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** R12: first redispatch of a task that no worker has started; doubles each time. */
const REDISPATCH_AFTER_MS = 5 * MINUTE_MS;
const REDISPATCH_AFTER_MAX_MS = HOUR_MS;

/**
 * Of a task that is claimed from its row (R29): no message of it can be lost, so it may wait for as long as its queue is
 * long. Sent again it would only lose its place in it.
 */
const REDISPATCH_LOCAL_MS = 24 * HOUR_MS;

/** R18: how long a cut-off worker may keep its lease by heartbeats. */
export const CUT_OFF_GRACE_MS = 30 * SECOND_MS;

/** R11: attempts that may end by a lost lease before the task fails. */
export const MAX_LOSSES = 10;

/** R32: signals that a run may hold without a wait that takes them; expired ones make room. */
export const MAX_BUFFERED_SIGNALS = 1_000;

/** Longest duration anywhere: 100 years of 365 days. */
export const MAX_DURATION_MS = 100 * 365 * 24 * HOUR_MS;

/** How a task is executed: a forward task by its node, an undo by its node's compensator. */
export interface Execution {
  readonly queue: string;
  readonly handler: string;
  readonly retry: RetryPolicy;
  readonly timeouts: TimeoutPolicy;
}

export function executionOf(dag: Dag, task: TaskState): Execution {
  const node = dag.nodes.get(task.nodeId);
  const execution = node?.type !== 'task' ? null : task.kind === 'forward' ? node : node.compensate;
  // Retry and plan keep tasks and versions together (R16); anything else is a bug that flags the run (R8).
  if (execution === null) throw new Error(`no way to execute ${task.kind} of ${task.nodeId} in version ${dag.version}`);
  return execution;
}

/** Pause before the next attempt after this many failures: exponential, capped, drawn from [(1 - jitter) * d, d]. */
export function backoffMs(policy: RetryPolicy, failures: number, random: number): number {
  if (policy.initialIntervalMs === 0) return 0;
  const exponential = policy.initialIntervalMs * policy.backoff ** (failures - 1);
  return Math.round(Math.min(exponential, policy.maxIntervalMs) * (1 - policy.jitter * random));
}

export function deadlinesOf(timeouts: TimeoutPolicy, redispatches: number, route: Route): TaskDeadlines {
  const doubled = Math.min(REDISPATCH_AFTER_MS * 2 ** redispatches, REDISPATCH_AFTER_MAX_MS);
  return {
    scheduleToStartMs: timeouts.scheduleToStartMs,
    redispatchAfterMs: route === 'local' ? REDISPATCH_LOCAL_MS : doubled,
    startToCloseMs: timeouts.startToCloseMs,
    heartbeatMs: timeouts.heartbeatMs,
    scheduleToCloseMs: timeouts.scheduleToCloseMs,
  };
}
