import type { NodeSpec, TaskNode, WaitNode } from '../definition/model.js';
import { assertNever } from '../assert-never.js';
import { dispatchTask } from './attempts.js';
import { renderForwardInput, type Rendered } from './inputs.js';
import { isSettled } from './status.js';
import type { Failure } from './state.js';
import type { Transition } from './transition.js';

/**
 * Starts what may start now, among these nodes and below them. A node starts when all its ways in are settled and
 * at least one of them SUCCEEDED; when none did, it is SKIPPED, in the same decision, and so on down.
 *
 * Works in rounds and without recursion: the depth of a graph is not the depth of a stack (B14).
 */
export function advance(t: Transition, candidates: Iterable<string>): void {
  let round: readonly string[] = [...new Set(candidates)];
  while (round.length > 0 && t.failure === undefined) {
    const ready: string[] = [];
    const settled: string[] = [];
    for (const nodeId of round) {
      const way = wayIn(t, nodeId);
      if (way === 'open') ready.push(nodeId);
      else if (way === 'dead') settled.push(skipNode(t, nodeId));
    }
    settled.push(...startNodes(t, ready));
    round = successorsOf(t, settled);
  }
}

/** Starts these nodes, whatever their ways in. Answers those that settled at once. */
export function startNodes(t: Transition, nodeIds: readonly string[]): string[] {
  const plans: NodePlan[] = [];
  for (const nodeId of nodeIds) {
    const plan = planNode(t, t.dag.nodes.get(nodeId));
    if (plan !== undefined) plans.push(plan);
  }
  for (const { node, input } of plans) if (input?.ok === false) failAtBirth(t, node.id, input.failure);
  // The run is about to fail: nothing else goes out to be cancelled in the same breath.
  if (t.failure !== undefined) return [];
  const settled: string[] = [];
  for (const { node, input } of plans) {
    if (node.type === 'wait') {
      if (openWait(t, node)) settled.push(node.id);
    } else if (input?.ok === true) {
      startTask(t, node, input.text);
    }
  }
  return settled;
}

export function skipNode(t: Transition, nodeId: string): string {
  const taskId = t.env.newId();
  t.apply({ ...newRow(t, nodeId), type: 'CreateTask', taskId, status: 'SKIPPED', input: null, failure: null });
  t.journal('node.skipped', {}, t.task(taskId));
  return nodeId;
}

export function successorsOf(t: Transition, nodeIds: Iterable<string>): string[] {
  const successors = new Set<string>();
  for (const nodeId of nodeIds) for (const next of t.dag.successors.get(nodeId) ?? []) successors.add(next);
  return [...successors];
}

type NodePlan =
  { readonly node: WaitNode; readonly input?: undefined } | { readonly node: TaskNode; readonly input: Rendered };

/** undefined: a fact is missing, the decision will be made again. */
function planNode(t: Transition, node: NodeSpec | undefined): NodePlan | undefined {
  switch (node?.type) {
    case 'wait':
      return { node };
    case 'task': {
      const input = renderForwardInput(t, node);
      return input === undefined ? undefined : { node, input };
    }
    case undefined:
      throw new Error('a node that the definition does not have');
    default:
      return assertNever(node);
  }
}

/** started: it has its row. open: may start. dead: no way in was taken. closed: a way in is still to be settled. */
function wayIn(t: Transition, nodeId: string): 'started' | 'open' | 'dead' | 'closed' {
  if (t.rows.current(nodeId) !== undefined) return 'started';
  const after = t.dag.nodes.get(nodeId)?.after ?? [];
  if (after.length === 0) return 'open';
  let taken = false;
  for (const before of after) {
    const row = t.rows.current(before);
    if (row === undefined || !isSettled(row)) return 'closed';
    taken ||= row.status === 'SUCCEEDED';
  }
  return taken ? 'open' : 'dead';
}

function newRow(t: Transition, nodeId: string): { nodeId: string; item: 0; kind: 'forward'; generation: number } {
  // R15: the generation of an execution is the epoch of its first dispatch.
  return { nodeId, item: 0, kind: 'forward', generation: t.state.epoch };
}

function startTask(t: Transition, node: TaskNode, input: string): void {
  const taskId = t.env.newId();
  t.apply({ ...newRow(t, node.id), type: 'CreateTask', taskId, status: 'SCHEDULED', input, failure: null });
  dispatchTask(t, taskId, { input, redispatches: 0 });
}

function failAtBirth(t: Transition, nodeId: string, failure: Failure): void {
  const taskId = t.env.newId();
  t.apply({ ...newRow(t, nodeId), type: 'CreateTask', taskId, status: 'FAILED', input: null, failure });
  t.journal('node.failed', { code: failure.code, detail: failure.message }, t.task(taskId));
  t.failure ??= failure;
}

/** Opens a wait. true: a signal was there already, and it is settled in the same decision (B47). */
function openWait(t: Transition, node: WaitNode): boolean {
  const taskId = t.env.newId();
  t.apply({ ...newRow(t, node.id), type: 'CreateTask', taskId, status: 'WAITING', input: null, failure: null });
  t.journal('node.waiting', { detail: node.signal }, t.task(taskId));
  const signal = t.bufferedSignal(node.signal);
  if (signal === undefined) return false; // asked for: the decision will be made again
  if (signal !== null) {
    const { signalId, name } = signal;
    t.apply({ type: 'ConsumeSignal', signalId, name, byTaskId: taskId, insert: null });
    t.journal('signal.consumed', { detail: name }, t.task(taskId));
    resolveWait(t, taskId, signal.payload);
    return true;
  }
  if (node.timeoutMs !== null) {
    t.apply({
      type: 'SetTimer',
      timerId: t.env.newId(),
      kind: 'wait-timeout',
      nodeId: node.id,
      generation: t.state.epoch,
      afterMs: node.timeoutMs,
      from: 'now',
    });
  }
  return false;
}

/** A wait takes its signal: the payload is the node's output. */
export function resolveWait(t: Transition, taskId: string, output: string): void {
  const { nodeId } = t.task(taskId);
  const settledSeq = t.nextSeq;
  t.apply({ type: 'ResolveWait', taskId, nodeId, status: 'SUCCEEDED', output, failure: null, settledSeq });
  t.journal('node.succeeded', {}, t.task(taskId));
}
