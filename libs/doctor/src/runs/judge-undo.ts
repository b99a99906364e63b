import { isSettled, isTerminal, needsUndo, type RunStatus, type TaskNode, type TaskState } from '@baton/core';
import type { RunView } from './run-view.js';
import type { Verdict } from './verdict.js';

/** I10, beyond what the state machine's own check says. */
export function judgeUndo(view: RunView, verdict: Verdict): void {
  const { state } = view;
  if (isTerminal(state.status)) judgeEnd(view, verdict);
  if (!isTerminal(state.status) && state.status !== 'COMPENSATING') return;
  judgeMissingUndos(view, verdict);
  if (!view.journal.broken) judgeNeedlessUndos(view, verdict);
}

/** R19: the final status is a function of what ended the forward phase and of how the undo went. */
function judgeEnd({ state }: RunView, verdict: Verdict): void {
  if (verdict.isBlamed('run')) return;
  const { status, cause, undo } = state;
  const failedUndo = [...state.tasks.values()].find(
    (task) => task.kind === 'compensate' && (task.status === 'FAILED' || task.status === 'TIMED_OUT'),
  );
  if (!allowedEnds(cause, undo).includes(status)) {
    const message = `${status}, though the cause is ${cause ?? 'none'} and the undo ${undo}`;
    verdict.add('I10', 'END_DIFFERS_FROM_UNDO', message, { about: 'run' });
  } else if (failedUndo !== undefined && status !== 'COMPENSATION_FAILED') {
    const { nodeId, taskId } = failedUndo;
    verdict.add('I10', 'FAILED_UNDO_HIDDEN', `${status}, though an undo is ${failedUndo.status}`, {
      nodeId,
      about: taskId,
    });
  }
}

function allowedEnds(cause: string | null, undo: string): readonly RunStatus[] {
  if (undo === 'FAILED') return ['COMPENSATION_FAILED'];
  switch (cause) {
    case 'failure':
      return [undo === 'NONE' ? 'FAILED' : 'COMPENSATED'];
    case 'cancel':
      return ['CANCELLED'];
    case 'deadline':
      return ['EXPIRED'];
    default:
      return undo === 'NONE' ? ['SUCCEEDED'] : [];
  }
}

/** Every completed and every unknown-outcome step that has a compensator has its undo row, of its own generation. */
function judgeMissingUndos({ state, dag }: RunView, verdict: Verdict): void {
  if (dag === null || state.status === 'SUCCEEDED' || state.cause === null) return;
  // `onDeadline: expire`: what was done stays done.
  if (state.cause === 'deadline' && dag.spec.onDeadline === 'expire') return;
  for (const step of state.tasks.values()) {
    const node = dag.nodes.get(step.nodeId);
    if (step.kind !== 'forward' || node?.type !== 'task' || !owesUndo(node, step)) continue;
    if (undoOf(state.tasks, step) !== undefined) continue;
    const message = `the step ended ${step.status}${step.unknownOutcome ? ', outcome unknown' : ''}, and has no undo`;
    verdict.add('I10', 'UNDO_MISSING', message, { nodeId: step.nodeId });
  }
}

function owesUndo(node: TaskNode, step: TaskState): boolean {
  return node.compensate !== null && (step.cutOff || needsUndo(node, step));
}

/** And no other step has one. Only undos of the version that the run is pinned to. */
function judgeNeedlessUndos({ state, dag, journal }: RunView, verdict: Verdict): void {
  if (dag === null) return;
  for (const undo of state.tasks.values()) {
    if (undo.kind !== 'compensate' || undo.status === 'CANCELLED' || !journal.undos.planned.has(undo.taskId)) continue;
    const node = dag.nodes.get(undo.nodeId);
    const step = [...state.tasks.values()].find(
      (task) =>
        task.kind === 'forward' &&
        task.nodeId === undo.nodeId &&
        task.item === undo.item &&
        task.generation === undo.generation,
    );
    if (step === undefined || node?.type !== 'task' || !isSettled(step) || needsUndo(node, step)) continue;
    const message = `undone, though the step ended ${step.status} and left nothing to undo`;
    verdict.add('I10', 'UNDO_NOT_CALLED_FOR', message, { nodeId: undo.nodeId, about: undo.taskId });
    verdict.blame(step.taskId);
  }
}

function undoOf(tasks: ReadonlyMap<string, TaskState>, step: TaskState): TaskState | undefined {
  for (const task of tasks.values()) {
    if (task.kind !== 'compensate' || task.nodeId !== step.nodeId) continue;
    if (task.item === step.item && task.generation === step.generation) return task;
  }
  return undefined;
}
