import { advance, startNodes, successorsOf } from './advance.js';
import { conclude } from './conclude.js';
import type { RunRetried } from './events.js';
import { failedUndos } from './finish.js';
import { armRunDeadline, descendantsOf } from './start.js';
import { isTerminal } from './status.js';
import type { TaskState } from './state.js';
import { APPLIED, refused, type Outcome, type Transition } from './transition.js';

/**
 * Opens the next epoch of a run that ended without success (R16). `t.dag` is the version to go on with.
 * Kept nodes keep their rows and generations (R15); reset ones get rows of a new generation when they start.
 */
export function onRunRetried(t: Transition, event: RunRetried): Outcome {
  const refusal = refuseByStatus(t) ?? refuseStart(t, event.fromNodeId);
  if (refusal !== undefined) return refusal;
  const seeds = nodesToRunAgain(t, event.fromNodeId);
  const reset = descendantsOf(t, seeds);
  const conflict = refuseUndone(t, reset) ?? refuseLacking(t, event.fromNodeId) ?? refuseNewAboveKept(t, reset);
  if (conflict !== undefined) return conflict;
  reopen(t, event, reset);
  // Seeds with nothing unsettled above them go at once, and do not ask for a way in: they had one when they first
  // started, or were the start node of the run. All others wait for what is above them.
  const first = t.dag.order.filter((nodeId) => seeds.has(nodeId) && isSettledAbove(t, nodeId));
  const settled = startNodes(t, first);
  advance(t, [...successorsOf(t, settled), ...t.dag.order]);
  conclude(t);
  return APPLIED;
}

function refuseByStatus(t: Transition): Outcome | undefined {
  const { status } = t.state;
  if (!isTerminal(status)) return refused('NOT_RETRYABLE', `the run is ${status}`);
  // B85: done is done, and money that is back stays back.
  if (status === 'SUCCEEDED' || status === 'COMPENSATED') return refused('NOT_RETRYABLE', `the run is ${status}`);
  const failed = failedUndos(t.state).map((undo) => undo.nodeId);
  if (failed.length === 0) return undefined;
  return refused('UNRESOLVED_UNDO', 'an undo failed: retry the compensation first', failed);
}

function refuseStart(t: Transition, fromNodeId: string | undefined): Outcome | undefined {
  if (fromNodeId === undefined || t.dag.nodes.has(fromNodeId)) return undefined;
  const moved = t.dag.version !== t.state.definitionVersion;
  return refused(
    moved ? 'NODE_NOT_IN_VERSION' : 'NODE_NOT_FOUND',
    `version ${t.dag.version} has no node ${fromNodeId}`,
    [fromNodeId],
  );
}

/** fromNode, what failed or was cut off, and what a new edge of the version puts below something newer. */
function nodesToRunAgain(t: Transition, fromNodeId: string | undefined): Set<string> {
  const seeds = new Set<string>(fromNodeId === undefined ? [] : [fromNodeId]);
  for (const nodeId of t.dag.order) {
    const row = t.rows.latest(nodeId);
    if (row !== undefined && (endedBadly(row) || t.rows.isReset(nodeId))) seeds.add(nodeId);
  }
  return seeds;
}

function endedBadly(row: TaskState): boolean {
  return row.status === 'FAILED' || row.status === 'TIMED_OUT' || row.status === 'CANCELLED';
}

/** A step that was undone must run again, or what is below it would build on nothing. */
function refuseUndone(t: Transition, reset: ReadonlySet<string>): Outcome | undefined {
  const undone: string[] = [];
  for (const task of t.state.tasks.values()) {
    if (task.kind !== 'compensate' || task.status === 'CANCELLED') continue;
    if (reset.has(task.nodeId) || !t.dag.nodes.has(task.nodeId)) continue;
    if (t.rows.latest(task.nodeId)?.generation === task.generation) undone.push(task.nodeId);
  }
  if (undone.length === 0) return undefined;
  undone.sort();
  return refused('UNDONE_NODES', `already undone, and not run again: ${undone.join(', ')}`, undone);
}

/** What the version must know: what failed, if the retry is about it, and every effect that is not undone. */
function refuseLacking(t: Transition, fromNodeId: string | undefined): Outcome | undefined {
  const lacking = new Set<string>();
  for (const task of t.state.tasks.values()) {
    if (task.kind !== 'forward' || t.dag.nodes.has(task.nodeId)) continue;
    const failed = fromNodeId === undefined && endedBadly(task) && task === t.rows.latest(task.nodeId);
    if (failed || hasEffect(t, task)) lacking.add(task.nodeId);
  }
  if (lacking.size === 0) return undefined;
  const nodes = [...lacking].sort();
  return refused('NODE_NOT_IN_VERSION', `version ${t.dag.version} lacks ${nodes.join(', ')}`, nodes);
}

/** The version could neither build on it nor undo it. */
function hasEffect(t: Transition, forward: TaskState): boolean {
  if (forward.status !== 'SUCCEEDED' && !forward.unknownOutcome) return false;
  return !t.rows
    .of(forward.nodeId, 'compensate')
    .some(
      (undo) => undo.generation === forward.generation && undo.item === forward.item && undo.status === 'SUCCEEDED',
    );
}

function refuseNewAboveKept(t: Transition, reset: ReadonlySet<string>): Outcome | undefined {
  const above = newNodesAboveKept(t, reset);
  if (above.length === 0) return undefined;
  return refused('NEW_NODE_UPSTREAM', `new in version ${t.dag.version}, above kept nodes: ${above.join(', ')}`, above);
}

/** R16: a kept node must not find something above it that has never run. One pass up the graph. */
function newNodesAboveKept(t: Transition, reset: ReadonlySet<string>): string[] {
  const aboveKept = new Set<string>();
  const fresh: string[] = [];
  for (let i = t.dag.order.length - 1; i >= 0; i -= 1) {
    const nodeId = t.dag.order[i] ?? '';
    const row = t.rows.latest(nodeId);
    if (row === undefined && aboveKept.has(nodeId)) fresh.push(nodeId);
    const kept = row !== undefined && !reset.has(nodeId);
    if (!kept && !aboveKept.has(nodeId)) continue;
    for (const before of t.dag.nodes.get(nodeId)?.after ?? []) aboveKept.add(before);
  }
  return fresh.reverse();
}

function isSettledAbove(t: Transition, nodeId: string): boolean {
  return (t.dag.nodes.get(nodeId)?.after ?? []).every((before) => t.rows.current(before) !== undefined);
}

function reopen(t: Transition, event: RunRetried, reset: ReadonlySet<string>): void {
  t.apply({
    type: 'ReopenRun',
    epoch: t.state.epoch + 1,
    status: 'RUNNING',
    definitionVersion: t.dag.version,
    input: event.input ?? null,
    resetNodes: t.dag.order.filter((nodeId) => reset.has(nodeId)),
    commandId: event.commandId,
  });
  t.rows.markReset(reset);
  t.journal('run.reopened', { nodeId: event.fromNodeId ?? null });
  armRunDeadline(t, 'now'); // R16: a new epoch restarts the deadline
}
