import { advance, skipNode, startNodes, successorsOf } from './advance.js';
import { conclude } from './conclude.js';
import type { RunStarted } from './events.js';
import { APPLIED, ignored, refused, type Outcome, type Transition } from './transition.js';

export function onRunStarted(t: Transition, event: RunStarted): Outcome {
  const { status, journalSeq, tasks } = t.state;
  if (status !== 'RUNNING' || journalSeq > 0 || tasks.size > 0) return ignored('the run has started already');
  const { startNodeId } = event;
  if (startNodeId !== undefined && !t.dag.nodes.has(startNodeId)) {
    return refused('NODE_NOT_FOUND', `the definition has no node ${startNodeId}`, [startNodeId]);
  }
  t.journal('run.started', { nodeId: startNodeId ?? null });
  armRunDeadline(t, 'run-start');
  if (startNodeId === undefined) advance(t, t.dag.order);
  else startFrom(t, startNodeId);
  conclude(t);
  return APPLIED;
}

export function armRunDeadline(t: Transition, from: 'now' | 'run-start'): void {
  const { deadlineMs } = t.dag.spec;
  if (deadlineMs === null) return;
  t.apply({
    type: 'SetTimer',
    timerId: t.env.newId(),
    kind: 'run-deadline',
    nodeId: null,
    generation: t.state.epoch,
    afterMs: deadlineMs,
    from,
  });
}

/** Every node that is not the start node or below it is SKIPPED; the start node does not ask for its ways in. */
function startFrom(t: Transition, startNodeId: string): void {
  const below = descendantsOf(t, [startNodeId]);
  for (const nodeId of t.dag.order) if (!below.has(nodeId)) skipNode(t, nodeId);
  const settled = startNodes(t, [startNodeId]);
  advance(t, successorsOf(t, settled));
}

/** These nodes and all below them. */
export function descendantsOf(t: Transition, nodeIds: Iterable<string>): Set<string> {
  const found = new Set<string>(nodeIds);
  const pending = [...found];
  for (let nodeId = pending.pop(); nodeId !== undefined; nodeId = pending.pop()) {
    for (const next of t.dag.successors.get(nodeId) ?? []) {
      if (!found.has(next)) {
        found.add(next);
        pending.push(next);
      }
    }
  }
  return found;
}
