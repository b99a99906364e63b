import { check, isSettled, isTerminal, type TaskState, type Violation } from '@baton/core';
import type { Bounds } from '../bounds.js';
import type { Collector } from '../collector.js';
import type { Invariant } from '../report.js';
import { judgeClocks } from './judge-clocks.js';
import { judgeKeys } from './judge-keys.js';
import { judgeMessages } from './judge-messages.js';
import { judgeUndo } from './judge-undo.js';
import { RUN_STATUS_AFTER, TASK_STATUS_AFTER } from './journal-words.js';
import type { RunView } from './run-view.js';
import { Verdict } from './verdict.js';

export interface JudgeOptions {
  readonly collector: Collector;
  readonly bounds: Bounds;
  readonly overdueMs: number;
}

/** All that can be said about one run. Causes before consequences: see Verdict. */
export function judgeRun(view: RunView, { collector, bounds, overdueMs }: JudgeOptions): void {
  const verdict = new Verdict(collector, view.state);
  if (view.stuckReason !== null) verdict.add('R8', 'RUN_STUCK', view.stuckReason);
  judgeJournal(view, verdict);
  const whole = view.journal.broken || judgeRows(view, verdict);
  if (whole) {
    judgeState(view, verdict);
    judgeUndo(view, verdict);
  }
  judgeClocks(view, verdict, overdueMs);
  if (!view.journal.broken && whole) {
    judgeStatus(view, verdict);
    judgeCounters(view, verdict);
  }
  if (!view.journal.broken) judgeMessages(view, verdict, bounds);
  judgeKeys(view, verdict);
}

/** I1, and what the order of the journal's rows shows. */
function judgeJournal({ journal, state }: RunView, verdict: Verdict): void {
  if (journal.missing > 0) {
    verdict.add(
      'I1',
      'JOURNAL_GAP',
      `${journal.missing} of ${state.journalSeq} rows, from seq ${journal.firstMissing} on`,
    );
  }
  if (journal.beyond > 0) {
    verdict.add('I1', 'JOURNAL_BEYOND_RUN', `${journal.beyond} rows after journal_seq ${state.journalSeq}`);
  }
  if (journal.broken) return;
  for (const { invariant, code, message, nodeId, about } of [...journal.problems, ...journal.undos.problems]) {
    verdict.add(invariant, code, message, { nodeId, about });
  }
}

/** I2: the journal and the task rows speak of the same tasks. false = what stands in the rows is not what was decided. */
function judgeRows({ state, journal }: RunView, verdict: Verdict): boolean {
  let whole = true;
  for (const [taskId, trail] of journal.tasks) {
    if (state.tasks.has(taskId)) continue;
    whole = false;
    verdict.add('I2', 'TASK_ROW_MISSING', `${trail.lastKind} of task ${taskId}, which has no row`, {
      nodeId: trail.nodeId,
      about: taskId,
    });
  }
  for (const task of state.tasks.values()) {
    if (journal.tasks.has(task.taskId)) continue;
    whole = false;
    verdict.add('I2', 'TASK_WITHOUT_JOURNAL', `nothing of task ${task.taskId} (${task.status}) is in the journal`, {
      nodeId: task.nodeId,
      about: task.taskId,
    });
  }
  return whole;
}

const INVARIANT_OF: Readonly<Record<Violation['invariant'], Invariant>> = {
  I4: 'I4',
  I5: 'I5',
  I6: 'I6',
  I10: 'I10',
  R11: 'I5',
  R15: 'I5',
  R18: 'I10',
  R19: 'I10',
};

/** What the state machine itself says of the state. */
function judgeState({ state, dag, timers }: RunView, verdict: Verdict): void {
  const open = [...state.tasks.values()].filter((task) => !isSettled(task));
  if (dag !== null) {
    for (const { invariant, code, message, nodeId } of check(state, dag)) {
      verdict.add(INVARIANT_OF[invariant], code, message, { nodeId });
      for (const task of open) if (blames(code, nodeId, task)) verdict.blame(task.taskId);
      if (code === 'OPEN_TASK_IN_ENDED_RUN' || code === 'UNDO_RESULT_DIFFERS' || code === 'CAUSE_DIFFERS') {
        verdict.blame('run');
      }
    }
  }
  if (isTerminal(state.status) && timers.length > 0) {
    verdict.add('I4', 'TIMER_IN_ENDED_RUN', `${timers[0]?.kind} and ${timers.length - 1} more`);
  }
}

function blames(code: Violation['code'], nodeId: string | undefined, task: TaskState): boolean {
  return code === 'OPEN_TASK_IN_ENDED_RUN' || code === 'NOTHING_WAKES_RUN' || nodeId === task.nodeId;
}

/** I2: statuses are what the journal says last. */
function judgeStatus({ state, journal }: RunView, verdict: Verdict): void {
  const runKind = journal.lastRunKind ?? 'nothing';
  if (!verdict.isBlamed('run') && RUN_STATUS_AFTER.get(runKind)?.includes(state.status) !== true) {
    verdict.add('I2', 'RUN_STATUS_DIFFERS', `${state.status}, but the journal says ${runKind}`, { about: 'run' });
  }
  for (const task of state.tasks.values()) {
    const trail = journal.tasks.get(task.taskId);
    if (trail === undefined || verdict.isBlamed(task.taskId)) continue;
    const about = { nodeId: task.nodeId, about: task.taskId };
    const statuses = TASK_STATUS_AFTER.get(trail.lastKind);
    if (statuses !== undefined && !statuses.includes(task.status)) {
      verdict.add('I2', 'TASK_STATUS_DIFFERS', `${task.status}, but the journal says ${trail.lastKind}`, about);
    } else if ((trail.lastAttempt ?? 0) !== task.attempt) {
      const said = trail.lastAttempt ?? 0;
      verdict.add('I2', 'TASK_ATTEMPT_DIFFERS', `attempt ${task.attempt}, but the journal says ${said}`, about);
    } else if (task.settledSeq !== null && !trail.endSeqs.includes(task.settledSeq)) {
      verdict.add(
        'I2',
        'SETTLED_SEQ_DIFFERS',
        `settled at seq ${task.settledSeq}, where the journal has no end`,
        about,
      );
    }
  }
}

/** I2: the counters of the run row are the numbers of its rows. */
function judgeCounters({ state, journal, buffered }: RunView, verdict: Verdict): void {
  if (state.bufferedSignals !== buffered) {
    verdict.add('I2', 'BUFFERED_SIGNALS_DIFFER', `${state.bufferedSignals} are counted, ${buffered} are there`);
  }
  if (state.epoch !== journal.reopened + 1) {
    verdict.add('I2', 'EPOCH_DIFFERS', `epoch ${state.epoch}, but it was opened again ${journal.reopened} times`);
  }
}
