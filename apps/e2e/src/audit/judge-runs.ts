import { groupBy, type Indexed } from './index-records.js';
import type { RunRecord } from './records.js';

/** Every run that was asked for is there once, has ended as it should, has nothing left open, and gave back its own. */
export function judgeRuns(all: Indexed): string[] {
  const byId = new Map(all.runs.map((run) => [run.runId, run]));
  const asked = groupBy(all.outcomes, (outcome) => outcome.runId);
  const problems: string[] = [];
  for (const run of all.runs) if (!asked.has(run.runId)) problems.push(`nobody started run ${run.runId}`);
  for (const [runId, outcomes] of asked) {
    if (outcomes.length > 1) problems.push(`${outcomes.length} orders were given the same run ${runId}`);
  }
  for (const { runId, orderId, kind, expected, actual, output } of all.outcomes) {
    const run = byId.get(runId);
    if (run === undefined) {
      problems.push(`order ${orderId} has no run ${runId}`);
      continue;
    }
    if (actual !== endOf(expected, runId, all))
      problems.push(`order ${orderId} (${kind}) ended ${actual}, not ${endOf(expected, runId, all)}: ${runId}`);
    if (run.status !== actual) problems.push(`run ${runId} is ${run.status}, the caller was told ${actual}`);
    if (actual === 'SUCCEEDED') problems.push(...wrongOutput(orderId, output));
    problems.push(...leftOpen(run, all), ...wrongSteps(run, all));
  }
  return problems;
}

/**
 * R17: a step that failed for good, but of which an earlier attempt was lost, may have had its effect: it is undone, and
 * the run is COMPENSATED where it would have FAILED.
 */
function endOf(expected: string, runId: string, all: Indexed): string {
  const isUnknown = all.tasksOfRun.get(runId)?.some((task) => task.kind === 'forward' && task.unknownOutcome) ?? false;
  return expected === 'FAILED' && isUnknown ? 'COMPENSATED' : expected;
}

/** Outputs name the order in every field: a value of another run, or of no run, would show. */
function wrongOutput(orderId: string, output: unknown): string[] {
  const wanted = { orderId, paymentId: `P-${orderId}`, tracking: `T-${orderId}`, invoiceId: `I-${orderId}` };
  const given = typeof output === 'object' && output !== null ? (output as Readonly<Record<string, unknown>>) : {};
  return Object.entries(wanted)
    .filter(([name, value]) => given[name] !== value)
    .map(([name, value]) => `order ${orderId} was answered ${name} ${JSON.stringify(given[name])}, not ${value}`);
}

const SETTLED = new Set(['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'SKIPPED', 'CANCELLED']);

function leftOpen(run: RunRecord, all: Indexed): string[] {
  const tasks = all.tasksOfRun.get(run.runId) ?? [];
  return [
    ...(run.stuckReason === null ? [] : [`run ${run.runId} is stuck: ${run.stuckReason}`]),
    ...(run.timers === 0 ? [] : [`run ${run.runId} has ended and has ${run.timers} timers`]),
    ...tasks
      .filter((task) => !SETTLED.has(task.status))
      .map((task) => `run ${run.runId} has ended and its ${task.node} (${task.kind}) is ${task.status}`),
  ];
}

const STEPS = ['reserve', 'charge', 'ship', 'invoice', 'notify'];

/** A run that succeeded has done every step and undone none. */
function wrongSteps(run: RunRecord, all: Indexed): string[] {
  const tasks = all.tasksOfRun.get(run.runId) ?? [];
  if (run.status === 'FAILED' || run.status === 'SUCCEEDED') {
    const undone = tasks.filter((task) => task.kind === 'compensate');
    if (undone.length > 0) return [`run ${run.runId} is ${run.status} and has undos of ${undone.map((t) => t.node)}`];
  }
  if (run.status !== 'SUCCEEDED') return [];
  const done = new Set(tasks.filter((task) => task.status === 'SUCCEEDED').map((task) => task.node));
  return STEPS.filter((step) => !done.has(step)).map((step) => `run ${run.runId} succeeded without ${step}`);
}
