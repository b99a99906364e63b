import { conclude } from './conclude.js';
import type { TimerRow } from './decide-types.js';
import { endForward } from './end-forward.js';
import type { TimerFired } from './events.js';
import { isSettled } from './status.js';
import type { Failure, TaskKind, TaskState } from './state.js';
import { APPLIED, ignored, type Outcome, type Transition } from './transition.js';
import { advanceUndo, settleCutOff } from './undo.js';

/** R21: a timer that was due is always consumed, also when nothing waits for it any more. */
export function onTimerFired(t: Transition, event: TimerFired): Outcome {
  const timer = t.timer(event.timerId);
  if (timer === undefined) return ignored('the row is asked for');
  if (timer === null) return ignored('the timer is gone');
  if (!timer.due) return ignored('the timer is not due yet');
  t.apply({ type: 'ClearTimers', which: { scope: 'id', timerId: timer.timerId } });
  switch (timer.kind) {
    case 'wait-timeout':
      return onWaitTimeout(t, timer);
    case 'run-deadline':
      return onRunDeadline(t, timer);
    case 'compensation-timeout':
      return onCompensationTimeout(t, timer);
  }
}

function onWaitTimeout(t: Transition, timer: TimerRow): Outcome {
  const wait = timer.nodeId === null ? undefined : t.rows.current(timer.nodeId);
  if (wait?.status !== 'WAITING' || wait.generation !== timer.generation) return ignored('the wait is over');
  const { taskId, nodeId } = wait;
  const failure: Failure = { code: 'WAIT_TIMEOUT', message: 'no signal came in time', nodeId };
  t.apply({
    type: 'ResolveWait',
    taskId,
    nodeId,
    status: 'TIMED_OUT',
    output: null,
    failure,
    settledSeq: t.nextSeq,
  });
  t.journal('node.timed_out', { code: failure.code, detail: failure.message }, t.task(taskId));
  t.failure = failure;
  conclude(t);
  return APPLIED;
}

function onRunDeadline(t: Transition, timer: TimerRow): Outcome {
  // R19: what has begun to be undone has no deadline; R15: an earlier epoch's deadline is not this one's.
  if (t.state.status !== 'RUNNING' || timer.generation !== t.state.epoch) return ignored('the deadline is void');
  const failure: Failure = { code: 'DEADLINE_EXCEEDED', message: 'the deadline of the run passed' };
  t.journal('run.deadline_passed', { code: failure.code });
  endForward(t, { cause: 'deadline', failure, undo: t.dag.spec.onDeadline === 'compensate' });
  return APPLIED;
}

/** R19: the undo took too long. What is open counts as failed, and `retryCompensation` may try it again. */
function onCompensationTimeout(t: Transition, timer: TimerRow): Outcome {
  if (t.state.status !== 'COMPENSATING' || timer.generation !== t.state.epoch) return ignored('the undo is over');
  t.journal('timer.fired', { code: 'COMPENSATION_TIMEOUT' });
  // Cut-off steps first: their end tells which of the planned undos are wanted at all (R18).
  for (const task of openTasks(t, 'forward')) {
    t.apply({ ...closedByTime(task), type: 'FailTask', status: 'CANCELLED', unknownOutcome: true });
    t.journal('node.cancelled', { code: TOO_LATE.code }, t.task(task.taskId));
    settleCutOff(t, t.task(task.taskId));
  }
  for (const task of openTasks(t, 'compensate')) {
    t.apply({ ...closedByTime(task), type: 'FailTask', status: 'TIMED_OUT', unknownOutcome: task.unknownOutcome });
    t.journal('node.compensation_failed', { code: TOO_LATE.code }, t.task(task.taskId));
  }
  advanceUndo(t);
  return APPLIED;
}

const TOO_LATE: Failure = { code: 'COMPENSATION_TIMEOUT', message: 'compensationTimeout passed' };

/** By id: a state that was read has its rows in another order than one that grew, and must decide the same (I3). */
function openTasks(t: Transition, kind: TaskKind): TaskState[] {
  return [...t.state.tasks.values()]
    .filter((task) => task.kind === kind && !isSettled(task))
    .sort((a, b) => (a.taskId < b.taskId ? -1 : 1));
}

function closedByTime({ taskId, nodeId, attempt, failures, losses, reportHash }: TaskState) {
  return { taskId, nodeId, attempt, failures, losses, reportHash, failure: { ...TOO_LATE, nodeId } };
}
