import { dispatchAgain, isOutcomeOpen } from './attempts.js';
import type { LeaseFacts } from './decide-types.js';
import type { TaskWoken } from './events.js';
import { endCutOff, failStep } from './reports.js';
import type { Failure, TaskState } from './state.js';
import { APPLIED, ignored, type Outcome, type Transition } from './transition.js';

/**
 * A task's `wake_at` was due (R12). What it means is decided on the row's facts, under its lock (R9): a heartbeat or
 * a report may have come first, and then the wake-up is only armed again.
 */
export function onTaskWoken(t: Transition, event: TaskWoken): Outcome {
  const task = t.state.tasks.get(event.taskId);
  if (task === undefined) return ignored('the run has no such task');
  if (task.attempt !== event.attempt) return ignored('the attempt is over');
  if (task.status !== 'SCHEDULED' && task.status !== 'BACKOFF') return ignored(`the task is ${task.status}`);
  const facts = t.leaseOf(task.taskId);
  if (facts === undefined) return ignored('the facts of the row are asked for');
  if (task.status === 'BACKOFF') return wakeFromBackoff(t, task, facts);
  if (task.cutOff) return wakeCutOff(t, task, facts);
  return facts.leaseId === null ? wakeUnleased(t, task, facts) : wakeLeased(t, task, facts);
}

function wakeFromBackoff(t: Transition, task: TaskState, facts: LeaseFacts): Outcome {
  if (facts.scheduleToClosePassed) return closeByTime(t, task, facts);
  if (!facts.backoffOver) return armAgain(t, task);
  dispatchAgain(t, task.taskId, 0);
  return APPLIED;
}

/** R18: the lease of a cut-off step has run out, or its grace has: the undo needs to wait no longer. */
function wakeCutOff(t: Transition, task: TaskState, facts: LeaseFacts): Outcome {
  if (!facts.cutOffOver && !facts.leaseExpired && facts.leaseId !== null) return armAgain(t, task);
  endCutOff(t, task, {
    status: 'CANCELLED',
    failure: { code: 'CANCELLED', message: 'no report before the end of its lease' },
    reportHash: null,
    unknownOutcome: true,
    ...(facts.cutOffOver ? { endedBy: 'cut-off' as const } : facts.leaseExpired ? { endedBy: 'lease' as const } : {}),
  });
  return APPLIED;
}

function wakeLeased(t: Transition, task: TaskState, facts: LeaseFacts): Outcome {
  // A lost lease whose time is up as well is not handed out for one more moment.
  if (facts.leaseExpired && !facts.scheduleToClosePassed) {
    failStep(t, task, {
      failure: LEASE_LOST,
      status: 'FAILED',
      reportHash: null,
      unknownOutcome: true, // R17: it ended without a report
      counts: 'loss', // R11: a crash of a worker is not a failure of the step
      retryable: true,
      endedBy: 'lease',
    });
    return APPLIED;
  }
  if (facts.startToClosePassed && !facts.scheduleToClosePassed) {
    failStep(t, task, {
      failure: { code: 'TIMEOUT', message: 'the attempt took longer than startToClose' },
      status: 'TIMED_OUT',
      reportHash: null,
      unknownOutcome: true,
      counts: 'failure',
      retryable: true,
      endedBy: 'start-to-close',
    });
    return APPLIED;
  }
  return facts.scheduleToClosePassed ? closeByTime(t, task, facts) : armAgain(t, task);
}

const LEASE_LOST: Failure = { code: 'LEASE_LOST', message: 'the lease ran out: the worker is gone or cannot reach us' };

function wakeUnleased(t: Transition, task: TaskState, facts: LeaseFacts): Outcome {
  if (facts.scheduleToClosePassed) return closeByTime(t, task, facts);
  if (facts.scheduleToStartPassed) {
    failStep(t, task, {
      failure: { code: 'SCHEDULE_TO_START_TIMEOUT', message: 'no worker started the attempt in time' },
      status: 'TIMED_OUT',
      reportHash: null,
      unknownOutcome: isOutcomeOpen(task), // R17: never leased = not started
      counts: 'failure',
      retryable: true,
    });
    return APPLIED;
  }
  if (!facts.redispatchDue) return armAgain(t, task);
  // R12: the message may be lost to its reader; another one, with another fence, and no failure counted.
  dispatchAgain(t, task.taskId, task.redispatches + 1);
  return APPLIED;
}

/** scheduleToClose bounds all attempts together: no policy gives another one. */
function closeByTime(t: Transition, task: TaskState, facts: LeaseFacts): Outcome {
  const leased = facts.leaseId !== null;
  failStep(t, task, {
    failure: { code: 'SCHEDULE_TO_CLOSE_TIMEOUT', message: 'the task was not over within scheduleToClose' },
    status: 'TIMED_OUT',
    reportHash: null,
    unknownOutcome: isOutcomeOpen(task) || leased,
    counts: 'failure',
    retryable: false,
    ...(leased ? { endedBy: 'schedule-to-close' as const } : {}),
  });
  return APPLIED;
}

function armAgain(t: Transition, task: TaskState): Outcome {
  t.apply({ type: 'WakeTask', taskId: task.taskId });
  return ignored('nothing is due: the wake-up is armed again');
}
