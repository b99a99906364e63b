import { renderRunOutput } from './inputs.js';
import type { JournalKind } from './actions.js';
import { isSettled } from './status.js';
import type { Failure, RunCause, RunState, RunStatus, TaskState, UndoResult } from './state.js';
import type { Transition } from './transition.js';

type TerminalStatus = Exclude<RunStatus, 'RUNNING' | 'COMPENSATING'>;

const ENDED: Record<TerminalStatus, JournalKind> = {
  SUCCEEDED: 'run.succeeded',
  FAILED: 'run.failed',
  COMPENSATED: 'run.compensated',
  COMPENSATION_FAILED: 'run.compensation_failed',
  EXPIRED: 'run.expired',
  CANCELLED: 'run.cancelled',
};

/** R19: the final status is a function of what ended the forward phase and of how the undo went. */
function finalStatus(cause: RunCause, undo: UndoResult): TerminalStatus {
  if (undo === 'FAILED') return 'COMPENSATION_FAILED';
  switch (cause) {
    case 'failure':
      return undo === 'NONE' ? 'FAILED' : 'COMPENSATED';
    case 'cancel':
      return 'CANCELLED';
    case 'deadline':
      return 'EXPIRED';
  }
}

/** Ends a run whose forward phase was ended by `cause`. */
export function finishEnded(t: Transition, cause: RunCause, undo: UndoResult, failure: Failure): void {
  const status = finalStatus(cause, undo);
  t.apply({ type: 'ClearTimers', which: { scope: 'all' } });
  t.apply({ type: 'FinishRun', status, undo, cause, failure, output: null });
  t.journal(ENDED[status], { nodeId: failure.nodeId ?? null, code: failure.code, detail: failure.message });
}

/** Are all nodes settled? Asked from the end: what has not started yet is usually there. */
export function isForwardComplete(t: Transition): boolean {
  for (let i = t.dag.order.length - 1; i >= 0; i -= 1) {
    const row = t.rows.current(t.dag.order[i] ?? '');
    if (row === undefined || !isSettled(row)) return false;
  }
  return true;
}

/** All nodes are settled and none failed. Answers a failure when the run's output cannot be given. */
export function finishSucceeded(t: Transition): Failure | undefined {
  const output = renderRunOutput(t);
  if (output === undefined) return undefined; // asked for
  if (output !== null && !output.ok) return output.failure;
  t.apply({ type: 'ClearTimers', which: { scope: 'all' } });
  t.apply({
    type: 'FinishRun',
    status: 'SUCCEEDED',
    undo: 'NONE',
    cause: null,
    failure: null,
    output: output?.text ?? null,
  });
  t.journal('run.succeeded');
  return undefined;
}

/** Undos that ended without success. A CANCELLED undo was dropped: there was nothing to undo. */
export function failedUndos(state: RunState): TaskState[] {
  return [...state.tasks.values()]
    .filter((task) => task.kind === 'compensate' && (task.status === 'FAILED' || task.status === 'TIMED_OUT'))
    .sort((a, b) => (a.taskId < b.taskId ? -1 : 1));
}
