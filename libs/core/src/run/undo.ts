import type { CompensateSpec, TaskNode } from '../definition/model.js';
import { dispatchTask } from './attempts.js';
import { failedUndos, finishEnded } from './finish.js';
import { renderUndoInput } from './inputs.js';
import { isSettled } from './status.js';
import type { Failure, TaskState } from './state.js';
import type { Transition } from './transition.js';

/**
 * Compensation (I10). The plan is rows: each forward step whose effect must be undone gets a PLANNED undo row
 * of its generation, in the decision that ends the forward phase. An undo is dispatched when its step has ended (R18)
 * and the undos of all steps below it have settled; failed ones do not stop the others (B42).
 */
type CompensableNode = TaskNode & { readonly compensate: CompensateSpec };

function compensable(t: Transition, nodeId: string): CompensableNode | undefined {
  const node = t.dag.nodes.get(nodeId);
  return node?.type === 'task' && node.compensate !== null ? (node as CompensableNode) : undefined;
}

/** Does this forward step leave something to undo? R17: unknown counts, a definite failure only where it is asked for. */
export function needsUndo(node: TaskNode, row: TaskState): boolean {
  if (node.compensate === null) return false;
  if (row.status === 'SUCCEEDED') return node.compensateOn.includes('SUCCEEDED');
  if (row.unknownOutcome && node.compensateOn.includes('UNKNOWN')) return true;
  // attempt 0: born failed, no worker ever had it.
  return row.status === 'FAILED' && row.attempt > 0 && node.compensateOn.includes('FAILED');
}

/** Forward rows to undo, in reverse order of the graph. Rows of older generations count until their undo exists. */
export function stepsToUndo(t: Transition): TaskState[] {
  const steps: TaskState[] = [];
  for (let i = t.dag.order.length - 1; i >= 0; i -= 1) {
    const node = compensable(t, t.dag.order[i] ?? '');
    if (node === undefined) continue;
    const undos = t.rows.of(node.id, 'compensate');
    for (const row of t.rows.of(node.id, 'forward')) {
      if (undos.some((undo) => undo.generation === row.generation && undo.item === row.item)) continue;
      if (row.cutOff || needsUndo(node, row)) steps.push(row);
    }
  }
  return steps;
}

export function planUndos(t: Transition, steps: readonly TaskState[]): void {
  for (const { nodeId, item, generation } of steps) {
    const taskId = t.env.newId();
    t.apply({
      type: 'CreateTask',
      taskId,
      nodeId,
      item,
      kind: 'compensate',
      generation,
      status: 'PLANNED',
      input: null,
      failure: null,
    });
    t.journal('undo.planned', {}, t.task(taskId));
  }
}

/** A cut-off step has ended: its undo stays, or is dropped because nothing happened or is asked to be undone. */
export function settleCutOff(t: Transition, forward: TaskState): void {
  const node = compensable(t, forward.nodeId);
  const undo = t.rows
    .of(forward.nodeId, 'compensate')
    .find((row) => row.generation === forward.generation && row.item === forward.item);
  if (undo?.status !== 'PLANNED' || (node !== undefined && needsUndo(node, forward))) return;
  const reason: Failure = { code: 'NOTHING_TO_UNDO', message: 'the step had no effect', nodeId: forward.nodeId };
  t.apply({ type: 'CancelTasks', taskIds: [undo.taskId], reason });
  t.journal('undo.dropped', { code: reason.code }, t.task(undo.taskId));
}

/** Dispatches the undos that are due, and ends the run when none is left. */
export function advanceUndo(t: Transition): void {
  while (dispatchDueUndos(t) === 'failed-at-birth');
  finishIfUndone(t);
}

/** An undo whose input cannot be rendered settles without a worker, so others may become due in the same decision. */
function dispatchDueUndos(t: Transition): 'failed-at-birth' | 'none-failed' {
  let failed = false;
  for (const { undo, forward, node } of nextUndos(t)) {
    const input = renderUndoInput(t, node, forward);
    if (input === undefined) continue; // asked for
    if (input.ok) {
      // An undo that had attempts is tried again by retryCompensation: its time starts anew.
      const again = undo.attempt > 0 ? ({ restartScheduleToClose: true } as const) : {};
      dispatchTask(t, undo.taskId, { input: input.text, redispatches: 0, ...again });
      continue;
    }
    failed = true;
    const { taskId, nodeId, attempt, failures, losses } = undo;
    const { failure } = input;
    const fixed = { status: 'FAILED', reportHash: null, unknownOutcome: false } as const;
    t.apply({ type: 'FailTask', taskId, nodeId, attempt, failure, failures, losses, ...fixed });
    t.journal('node.compensation_failed', { code: failure.code, detail: failure.message }, t.task(taskId));
  }
  return failed ? 'failed-at-birth' : 'none-failed';
}

interface DueUndo {
  readonly undo: TaskState;
  readonly forward: TaskState;
  readonly node: CompensableNode;
}

function nextUndos(t: Transition): DueUndo[] {
  if (t.dag.spec.compensation === 'parallel') return dueUndos(t);
  // Strictly one by one: not before every cut-off step has ended, since the last to end is the first to be undone.
  for (const task of t.state.tasks.values()) {
    if (task.cutOff) return [];
    if (task.kind === 'compensate' && task.status !== 'PLANNED' && !isSettled(task)) return [];
  }
  const last = dueUndos(t).sort((a, b) => completionOrder(b.forward) - completionOrder(a.forward))[0];
  return last === undefined ? [] : [last];
}

/** A step that never reported success was still under way when the others had completed. */
function completionOrder(forward: TaskState): number {
  return forward.settledSeq ?? Number.MAX_SAFE_INTEGER;
}

/** PLANNED undos whose step has ended and below which no undo is open. One pass over the graph, from its end. */
export function dueUndos(t: Transition): DueUndo[] {
  const due: DueUndo[] = [];
  const blocked = new Set<string>();
  for (let i = t.dag.order.length - 1; i >= 0; i -= 1) {
    const nodeId = t.dag.order[i] ?? '';
    const blockedBelow = (t.dag.successors.get(nodeId) ?? []).some((next) => blocked.has(next));
    const open = t.rows.of(nodeId, 'compensate').filter((undo) => !isSettled(undo));
    if (blockedBelow || open.length > 0) blocked.add(nodeId);
    const undo = open[0]; // newest generation first: it was done last
    const node = compensable(t, nodeId);
    if (undo?.status !== 'PLANNED' || blockedBelow || node === undefined) continue;
    const forward = forwardOf(t, undo);
    if (isSettled(forward)) due.push({ undo, forward, node });
  }
  return due;
}

function forwardOf(t: Transition, undo: TaskState): TaskState {
  const forward = t.rows
    .of(undo.nodeId, 'forward')
    .find((row) => row.generation === undo.generation && row.item === undo.item);
  if (forward === undefined) throw new Error(`undo ${undo.taskId} has no forward step`);
  return forward;
}

function finishIfUndone(t: Transition): void {
  for (const task of t.state.tasks.values()) {
    if (!isSettled(task)) return;
  }
  const { cause, failure } = t.state;
  if (cause === null) throw new Error('a run is COMPENSATING without a cause');
  const failed = failedUndos(t.state);
  if (failed.length === 0) finishEnded(t, cause, 'CLEAN', failure ?? originalFailure(t));
  else finishEnded(t, cause, 'FAILED', undoFailure(failed, failure ?? originalFailure(t)));
}

/** What made the run compensate, told by its rows: after retryCompensation the run row has forgotten it. */
function originalFailure(t: Transition): Failure {
  switch (t.state.cause) {
    case 'cancel':
      return { code: 'CANCELLED', message: 'the run was cancelled' };
    case 'deadline':
      return { code: 'DEADLINE_EXCEEDED', message: 'the deadline of the run passed' };
    default:
      for (const nodeId of t.dag.order) {
        const row = t.rows.current(nodeId);
        if (row?.failure && (row.status === 'FAILED' || row.status === 'TIMED_OUT')) return row.failure;
      }
      return { code: 'TASK_FAILED', message: 'the run failed' };
  }
}

function undoFailure(failed: readonly TaskState[], original: Failure): Failure {
  const nodes = failed.map((undo) => undo.nodeId).join(', ');
  const first = failed[0];
  const why = first?.failure ? `${first.failure.code}: ${first.failure.message}` : 'unknown';
  return {
    code: 'COMPENSATION_FAILED',
    message: `undo failed for ${nodes} (${why}); undone because of ${original.code}: ${original.message}`,
    ...(first === undefined ? {} : { nodeId: first.nodeId }),
  };
}
