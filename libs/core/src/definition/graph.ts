import type { Dag, DefinitionSpec, NodeSpec } from './model.js';

/** Edges by node: a node and the nodes it comes after, or the nodes that come after it. */
export type Edges = ReadonlyMap<string, readonly string[]>;

export interface GraphOrder {
  /** Nodes in topological order, as far as there is one. Among equals, the order of the definition. */
  readonly order: readonly string[];
  /** Nodes on a cycle or below one, in the order of the definition. */
  readonly rest: readonly string[];
}

export function successorsOf(before: Edges): Map<string, string[]> {
  const successors = new Map<string, string[]>();
  for (const nodeId of before.keys()) successors.set(nodeId, []);
  for (const [nodeId, after] of before) for (const from of after) successors.get(from)?.push(nodeId);
  return successors;
}

/** Kahn's algorithm: linear, without recursion. */
export function sortTopologically(before: Edges, successors: Edges): GraphOrder {
  const open = new Map<string, number>();
  const order: string[] = [];
  for (const [nodeId, after] of before) {
    open.set(nodeId, after.length);
    if (after.length === 0) order.push(nodeId);
  }
  for (let i = 0; i < order.length; i += 1) {
    for (const next of successors.get(order[i] ?? '') ?? []) {
      const left = (open.get(next) ?? 0) - 1;
      open.set(next, left);
      if (left === 0) order.push(next);
    }
  }
  return { order, rest: [...before.keys()].filter((nodeId) => (open.get(nodeId) ?? 0) > 0) };
}

/** The graph indexes of a spec that has been checked: ids are unique, edges lead somewhere, there is no cycle. */
export function buildDag(spec: DefinitionSpec, version: number): Dag {
  const nodes = new Map<string, NodeSpec>(spec.nodes.map((node) => [node.id, node]));
  const before: Edges = new Map(spec.nodes.map((node) => [node.id, node.after]));
  const successors = successorsOf(before);
  const { order } = sortTopologically(before, successors);
  return { definitionId: spec.id, version, spec, nodes, successors, order };
}

export interface Knot {
  /** Nodes that lie on cycles with each other. */
  readonly members: readonly string[];
  /** The shortest cycle through the first of them, ending where it began. */
  readonly cycle: readonly string[];
}

/**
 * Cycles among these nodes: one for each strongly connected component.
 * Tarjan's algorithm with an explicit stack: a chain of 10,000 nodes is no deep recursion.
 */
export function findKnots(nodeIds: readonly string[], successors: Edges): Knot[] {
  return components(nodeIds, successors)
    .filter((members) => members.length > 1)
    .map((members) => ({ members, cycle: shortestCycle(members, successors) }));
}

interface Visit {
  readonly nodeId: string;
  readonly next: readonly string[];
  at: number;
}

function components(nodeIds: readonly string[], successors: Edges): string[][] {
  const allowed = new Set(nodeIds);
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const found: string[][] = [];

  const enter = (nodeId: string): Visit => {
    index.set(nodeId, index.size);
    low.set(nodeId, index.size - 1);
    stack.push(nodeId);
    onStack.add(nodeId);
    return { nodeId, next: (successors.get(nodeId) ?? []).filter((next) => allowed.has(next)), at: 0 };
  };
  const lower = (nodeId: string, value: number): void => {
    low.set(nodeId, Math.min(low.get(nodeId) ?? value, value));
  };
  const leave = (nodeId: string): void => {
    if (low.get(nodeId) !== index.get(nodeId)) return;
    const component = stack.splice(stack.lastIndexOf(nodeId));
    for (const member of component) onStack.delete(member);
    found.push(component);
  };

  for (const root of nodeIds) {
    if (index.has(root)) continue;
    const visits = [enter(root)];
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const next = visit.next[visit.at];
      visit.at += 1;
      if (next === undefined) {
        visits.pop();
        leave(visit.nodeId);
        const parent = visits.at(-1);
        if (parent !== undefined) lower(parent.nodeId, low.get(visit.nodeId) ?? 0);
      } else if (!index.has(next)) {
        visits.push(enter(next));
      } else if (onStack.has(next)) {
        lower(visit.nodeId, index.get(next) ?? 0);
      }
    }
  }
  return found;
}

/** Breadth first from one node of the component back to itself. The way it is told: along the edges. */
function shortestCycle(component: readonly string[], successors: Edges): string[] {
  const start = component[0] ?? '';
  const members = new Set(component);
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const nodeId of queue) {
    for (const next of successors.get(nodeId) ?? []) {
      if (next === start) return [...pathTo(nodeId, start, cameFrom), start];
      if (!members.has(next) || cameFrom.has(next)) continue;
      cameFrom.set(next, nodeId);
      queue.push(next);
    }
  }
  return [start];
}

function pathTo(nodeId: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const path = [nodeId];
  for (let at = nodeId; at !== start;) {
    at = cameFrom.get(at) ?? start;
    path.push(at);
  }
  return path.reverse();
}
