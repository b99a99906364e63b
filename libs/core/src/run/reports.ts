import { assertNever } from '../assert-never.js';
import { goOnBelow, conclude } from './conclude.js';
import { DEFERRED, dispatchAgain, endAttempt, isOutcomeOpen, ranWithoutResult, type AttemptEnd } from './attempts.js';
import type { ReportOutcome } from './decide-types.js';
import type { NodeCompleted, NodeFailed, TaskDeferred, TaskReleased } from './events.js';
import { cleanFailure } from './failures.js';
import { MAX_DURATION_MS, MAX_LOSSES } from './policy.js';
import type { Failure, TaskState } from './state.js';
import type { Outcome, Transition } from './transition.js';
import { advanceUndo, settleCutOff } from './undo.js';

type Report = NodeCompleted | NodeFailed | TaskReleased | TaskDeferred;

/** A worker's report (R14). All outcomes are acknowledged; only an open attempt of the right number is changed. */
export function onReport(t: Transition, event: Report): Outcome {
  const task = t.state.tasks.get(event.taskId);
  if (task === undefined || task.nodeId !== event.nodeId) return stale('NOT_FOUND', 'the run has no such task');
  // Older workers may send no attempt: it means the one that is out.
  const attempt = event.attempt === 0 ? task.attempt : event.attempt;
  if (attempt < task.attempt) return stale('STALE', `attempt ${attempt} was followed by ${task.attempt}`);
  if (attempt > task.attempt) return stale('STALE', `attempt ${attempt} has not been handed out`);
  if (task.status !== 'SCHEDULED') return closedAttempt(task, event);
  if (task.cutOff) {
    reportInCutOff(t, task, cleaned(event));
    return { kind: 'applied', report: 'APPLIED_CANCELLED' };
  }
  applyReport(t, task, cleaned(event));
  return { kind: 'applied', report: 'APPLIED' };
}

function cleaned(event: Report): Report {
  return event.type === 'NodeFailed' ? { ...event, failure: cleanFailure(event.failure, event.nodeId) } : event;
}

function stale(report: ReportOutcome, reason: string): Outcome {
  return { kind: 'ignored', reason, report };
}

/** B21: the same content again is a duplicate, other content a conflict. Closed by time or cancel: nobody's report. */
function closedAttempt(task: TaskState, event: Report): Outcome {
  if (task.reportHash === null) return stale('STALE', `the attempt was closed: ${task.status}`);
  if (task.reportHash === event.reportHash) return stale('DUPLICATE', 'the attempt was closed by this report');
  return stale('CONFLICT', 'the attempt was closed by another report');
}

function applyReport(t: Transition, task: TaskState, event: Report): void {
  switch (event.type) {
    case 'NodeCompleted':
      return complete(t, task, event);
    case 'NodeFailed':
      return failStep(t, task, {
        failure: event.failure,
        status: 'FAILED',
        reportHash: event.reportHash,
        // R17: a definite failure does not make earlier attempts known.
        unknownOutcome: task.unknownOutcome || ranWithoutResult(event.failure),
        counts: 'failure',
        retryable: event.retryable,
      });
    case 'TaskReleased':
      return giveBack(t, task, event, {
        failure: { code: 'WORKER_RELEASED', message: 'the worker gave the attempt back' },
        unknownOutcome: isOutcomeOpen(task) || event.started,
        pauseMs: 0,
      });
    case 'TaskDeferred':
      return giveBack(t, task, event, {
        failure: { code: DEFERRED, message: 'the worker asked to be called again later' },
        unknownOutcome: task.unknownOutcome,
        pauseMs: Math.min(Math.max(0, Math.round(event.delayMs) || 0), MAX_DURATION_MS),
      });
    default:
      return assertNever(event);
  }
}

function complete(t: Transition, task: TaskState, event: NodeCompleted): void {
  recordSuccess(t, task, event);
  if (task.kind === 'compensate') advanceUndo(t);
  else goOnBelow(t, [task.nodeId]);
}

function recordSuccess(t: Transition, task: TaskState, event: NodeCompleted): void {
  t.apply({
    type: 'CompleteTask',
    taskId: task.taskId,
    nodeId: task.nodeId,
    attempt: task.attempt,
    output: event.output,
    reportHash: event.reportHash,
    settledSeq: t.nextSeq,
  });
  t.journal(task.kind === 'forward' ? 'node.succeeded' : 'node.compensated', {}, t.task(task.taskId));
}

/** An attempt ended without success: another follows, or the step has failed and the run goes on from there. */
export function failStep(t: Transition, task: TaskState, end: AttemptEnd): void {
  if (endAttempt(t, task, end, MAX_LOSSES) === 'continues') return;
  const about = { code: end.failure.code, detail: end.failure.message };
  if (task.kind === 'compensate') {
    t.journal('node.compensation_failed', about, t.task(task.taskId));
    advanceUndo(t); // B42: the undos of others are still tried
    return;
  }
  t.journal(end.status === 'TIMED_OUT' ? 'node.timed_out' : 'node.failed', about, t.task(task.taskId));
  t.failure = { ...end.failure, nodeId: task.nodeId };
  conclude(t);
}

/** R11, R13: the attempt ends and is no failure of the step, so neither count rises. */
function giveBack(
  t: Transition,
  task: TaskState,
  event: TaskReleased | TaskDeferred,
  end: { readonly failure: Failure; readonly unknownOutcome: boolean; readonly pauseMs: number },
): void {
  t.apply({
    type: 'RetryTask',
    taskId: task.taskId,
    nodeId: task.nodeId,
    attempt: task.attempt,
    failure: { ...end.failure, nodeId: task.nodeId },
    reportHash: event.reportHash,
    unknownOutcome: end.unknownOutcome,
    failures: task.failures,
    losses: task.losses,
    backoffMs: end.pauseMs,
  });
  t.journal(event.type === 'TaskReleased' ? 'task.released' : 'task.deferred', {}, t.task(task.taskId));
  if (end.pauseMs === 0) dispatchAgain(t, task.taskId, 0);
}

/** R18: a report in the cut-off window is recorded and feeds the undo; the step is not tried again (B24). */
function reportInCutOff(t: Transition, task: TaskState, event: Report): void {
  switch (event.type) {
    case 'NodeCompleted':
      recordSuccess(t, task, event);
      settleCutOff(t, t.task(task.taskId));
      advanceUndo(t);
      return;
    case 'NodeFailed': {
      // A handler that was stopped half-way by the cancel reports CANCELLED: that tells nothing about its effects.
      const known = event.failure.code !== 'CANCELLED';
      endCutOff(t, task, {
        status: known ? 'FAILED' : 'CANCELLED',
        failure: event.failure,
        reportHash: event.reportHash,
        unknownOutcome: task.unknownOutcome || !known || ranWithoutResult(event.failure),
      });
      return;
    }
    case 'TaskReleased':
    case 'TaskDeferred':
      endCutOff(t, task, {
        status: 'CANCELLED',
        failure: { code: 'CANCELLED', message: 'given back after the run went on without it' },
        reportHash: event.reportHash,
        unknownOutcome: isOutcomeOpen(task) || event.type === 'TaskDeferred' || event.started,
      });
      return;
    default:
      assertNever(event);
  }
}

export interface CutOffEnd extends Pick<AttemptEnd, 'failure' | 'reportHash' | 'unknownOutcome' | 'endedBy'> {
  readonly status: 'FAILED' | 'CANCELLED';
}

/** The end of a cut-off step: its undo is dropped or becomes due. */
export function endCutOff(t: Transition, task: TaskState, end: CutOffEnd): void {
  const { taskId, nodeId, attempt, failures, losses } = task;
  t.apply({ ...end, type: 'FailTask', taskId, nodeId, attempt, failures, losses, failure: { ...end.failure, nodeId } });
  const about = { code: end.failure.code, detail: end.failure.message };
  t.journal(end.status === 'FAILED' ? 'node.failed' : 'node.cancelled', about, t.task(taskId));
  settleCutOff(t, t.task(taskId));
  advanceUndo(t);
}
