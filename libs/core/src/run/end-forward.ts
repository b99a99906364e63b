import { isOutcomeOpen } from './attempts.js';
import { CUT_OFF_GRACE_MS } from './policy.js';
import { finishEnded } from './finish.js';
import { advanceUndo, planUndos, stepsToUndo } from './undo.js';
import { isSettled } from './status.js';
import type { Failure, RunCause, TaskState } from './state.js';
import type { Transition } from './transition.js';

export interface EndForward {
  readonly cause: RunCause;
  readonly failure: Failure;
  /** false: `onDeadline: expire`, what was done stays done. */
  readonly undo: boolean;
}

/**
 * Ends the forward phase: in this one decision the open steps are closed or cut off, all forward timers go,
 * and the undo begins, or the run ends because there is nothing to undo.
 */
export function endForward(t: Transition, { cause, failure, undo }: EndForward): void {
  closeOpenSteps(t, undo);
  t.apply({ type: 'ClearTimers', which: { scope: 'all' } }); // R19: the run deadline among them
  const steps = undo ? stepsToUndo(t) : [];
  if (steps.length === 0) {
    finishEnded(t, cause, 'NONE', failure);
    return;
  }
  t.apply({ type: 'BeginCompensation', cause, failure });
  t.journal('run.compensation_started', {
    nodeId: failure.nodeId ?? null,
    code: failure.code,
    detail: failure.message,
  });
  planUndos(t, steps);
  armCompensationTimeout(t);
  advanceUndo(t);
}

/** R19: `compensationTimeout` bounds the undo. */
export function armCompensationTimeout(t: Transition): void {
  const { compensationTimeoutMs } = t.dag.spec;
  if (compensationTimeoutMs === null) return;
  t.apply({
    type: 'SetTimer',
    timerId: t.env.newId(),
    kind: 'compensation-timeout',
    nodeId: null,
    generation: t.state.epoch,
    afterMs: compensationTimeoutMs,
    from: 'now',
  });
}

function closeOpenSteps(t: Transition, undo: boolean): void {
  const closing: TaskState[] = [];
  for (const nodeId of t.dag.order) {
    const row = t.rows.current(nodeId);
    if (row === undefined || isSettled(row)) continue;
    if (row.status === 'SCHEDULED') endScheduled(t, row, undo, closing);
    else if (row.status === 'BACKOFF' && isOutcomeOpen(row)) closeUnknown(t, row);
    else closing.push(row);
  }
  if (closing.length === 0) return;
  t.apply({ type: 'CancelTasks', taskIds: closing.map((row) => row.taskId), reason: CUT_OFF });
  for (const row of closing) t.journal('node.cancelled', { code: CUT_OFF.code }, row);
}

const CUT_OFF: Failure = { code: 'CANCELLED', message: 'the run went on without it' };

/** R17, R18: what becomes of a task that is out depends on whether a worker holds it. */
function endScheduled(t: Transition, row: TaskState, undo: boolean, closing: TaskState[]): void {
  const lease = t.leaseOf(row.taskId);
  if (lease === undefined) return; // asked for
  if (lease.leaseId === null) {
    // This attempt was never leased, so never started; acquire is refused from now on.
    if (isOutcomeOpen(row)) closeUnknown(t, row);
    else closing.push(row);
    return;
  }
  const node = t.dag.nodes.get(row.nodeId);
  const waits = undo && !lease.leaseExpired && node?.type === 'task' && node.compensate !== null;
  if (!waits) {
    closeUnknown(t, row, lease.leaseExpired);
    return;
  }
  t.apply({ type: 'CutOffTask', taskId: row.taskId, nodeId: row.nodeId, graceMs: CUT_OFF_GRACE_MS });
  t.journal('task.cut_off', { code: CUT_OFF.code }, row);
}

/** Closes a step of which nobody knows how far it came: leased, or asked to be called again later. */
function closeUnknown(t: Transition, row: TaskState, leaseExpired = false): void {
  t.apply({
    type: 'FailTask',
    taskId: row.taskId,
    nodeId: row.nodeId,
    attempt: row.attempt,
    status: 'CANCELLED',
    failure: { ...CUT_OFF, nodeId: row.nodeId },
    // A closed attempt keeps the hash of the report that closed it (R14).
    reportHash: row.reportHash,
    unknownOutcome: true,
    failures: row.failures,
    losses: row.losses,
    ...(leaseExpired ? { endedBy: 'lease' } : {}),
  });
  t.journal('node.cancelled', { code: CUT_OFF.code, detail: 'outcome unknown' }, row);
}
