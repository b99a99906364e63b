import { isTerminal } from '@baton/core';
import type { ClockRow, RunView } from './run-view.js';
import type { Verdict } from './verdict.js';

/** R21: a timer that could not be fired so often needs a person. */
const MANY_FAILURES = 10;

/** I6 and I9: wake-ups and leases. */
export function judgeClocks(view: RunView, verdict: Verdict, overdueMs: number): void {
  for (const row of view.clocks) {
    if (verdict.isBlamed(row.task_id)) continue;
    judgeRoute(row, view.state.route, verdict);
    judgeLease(row, verdict);
    judgeWakeUp(row, verdict, { overdueMs, terminal: isTerminal(view.state.status) });
  }
  for (const timer of view.timers) {
    if (timer.failures >= MANY_FAILURES && view.stuckReason === null) {
      verdict.add('R8', 'TIMER_KEEPS_FAILING', `${timer.kind} failed ${timer.failures} times`, {
        nodeId: timer.node_id,
      });
    } else if (Number(timer.overdue_ms) > overdueMs && !isTerminal(view.state.status)) {
      const late = seconds(timer.overdue_ms);
      verdict.add('I6', 'TIMER_OVERDUE', `${timer.kind} has been due for ${late}: nobody fires`, {
        nodeId: timer.node_id,
      });
    }
  }
  judgeTimers(view, verdict);
}

/** R29: a row of another route than its run's is looked for by nobody, or sent to nobody. */
function judgeRoute(row: ClockRow, route: string, verdict: Verdict): void {
  if (row.route === route || (row.status !== 'SCHEDULED' && row.status !== 'BACKOFF')) return;
  const about = { nodeId: row.node_id, about: row.task_id };
  verdict.add('I6', 'ROUTE_DIFFERS', `route ${row.route} in a run of route ${route}: nobody takes it`, about);
}

function judgeLease(row: ClockRow, verdict: Verdict): void {
  const about = { nodeId: row.node_id, about: row.task_id };
  if (row.has_lease && row.status !== 'SCHEDULED') {
    verdict.add('I9', 'LEASE_ON_CLOSED_TASK', `${row.status}, and leased by ${row.lease_owner ?? 'nobody'}`, about);
  } else if (row.has_lease && (!row.lease_whole || (row.lease_owner ?? '') === '')) {
    verdict.add('I9', 'LEASE_NOT_WHOLE', 'a lease without its owner, beginning or end', about);
  } else if (row.lease_leftover) {
    verdict.add('I9', 'LEASE_LEFT_OVER', 'columns of a lease, but no lease', about);
  }
}

function judgeWakeUp(
  row: ClockRow,
  verdict: Verdict,
  { overdueMs, terminal }: { readonly overdueMs: number; readonly terminal: boolean },
): void {
  const about = { nodeId: row.node_id, about: row.task_id };
  const open = row.status === 'SCHEDULED' || row.status === 'BACKOFF';
  if (open && !row.wake_set && !terminal) verdict.add('I6', 'OPEN_TASK_WITHOUT_WAKE_UP', `${row.status}`, about);
  else if (row.too_late) verdict.add('I6', 'WAKE_UP_TOO_LATE', 'later than all that can be due on the row', about);
  else if (Number(row.overdue_ms ?? 0) > overdueMs) {
    verdict.add('I6', 'WAKE_UP_OVERDUE', `due for ${seconds(row.overdue_ms)}: nobody fires`, about);
  }
}

/** Deadlines that the definition gives and that nothing else would keep. */
function judgeTimers({ state, dag, timers }: RunView, verdict: Verdict): void {
  if (dag === null || isTerminal(state.status)) return;
  const has = (kind: string, generation: number, nodeId: string | null): boolean =>
    timers.some((timer) => timer.kind === kind && timer.generation === generation && timer.node_id === nodeId);
  const { deadlineMs, compensationTimeoutMs } = dag.spec;
  if (state.status === 'RUNNING' && deadlineMs !== null && !has('run-deadline', state.epoch, null)) {
    verdict.add('I6', 'RUN_DEADLINE_MISSING', 'the run has a deadline, and no timer for it');
  }
  if (state.status === 'COMPENSATING' && compensationTimeoutMs !== null) {
    if (!has('compensation-timeout', state.epoch, null)) {
      verdict.add('I6', 'COMPENSATION_TIMEOUT_MISSING', 'the compensation has a timeout, and no timer for it');
    }
  }
  for (const task of state.tasks.values()) {
    const node = dag.nodes.get(task.nodeId);
    if (task.status !== 'WAITING' || node?.type !== 'wait' || node.timeoutMs === null) continue;
    if (has('wait-timeout', task.generation, task.nodeId) || verdict.isBlamed(task.taskId)) continue;
    verdict.add('I6', 'WAIT_TIMER_MISSING', 'the wait has a timeout, and no timer for it', { nodeId: task.nodeId });
  }
}

function seconds(ms: string | null): string {
  return `${Math.round(Number(ms ?? 0) / 1000)} s`;
}
