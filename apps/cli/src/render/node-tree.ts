import type { NodeOutline } from '../client/views.js';

export interface TreeItem {
  readonly node: NodeOutline;
  /** What it waits for, where that is more than the node above it. */
  readonly joins: readonly string[];
  readonly children: readonly TreeItem[];
}

interface Branch {
  readonly node: NodeOutline;
  readonly parent: Branch | undefined;
  readonly joins: readonly string[];
  readonly children: Branch[];
}

/**
 * A graph as a tree to draw. A node stands under the node that it waits for; a join under the nearest node from which
 * all its branches come. A step that is the only one to follow stands beside its forerunner instead of below it: a
 * sequence is a list, only a fan-out is indented.
 */
export function arrange(nodes: readonly NodeOutline[]): readonly TreeItem[] {
  const depths = depthsOf(nodes);
  const branches = new Map<string, Branch>();
  const roots: Branch[] = [];
  for (const node of [...nodes].sort((a, b) => (depths.get(a.id) ?? 0) - (depths.get(b.id) ?? 0))) {
    const parents = node.after.flatMap((id) => branches.get(id) ?? []);
    const parent = nearestCommon(parents);
    const joins = parents.length > 1 ? parents.map((each) => each.node.id) : [];
    const branch: Branch = { node, parent, joins, children: [] };
    branches.set(node.id, branch);
    (parent?.children ?? roots).push(branch);
  }
  return flatten(roots);
}

/** Deeper ones stand beside what they stand under: a picture has a width, and a graph may be 10,000 nodes deep. */
const MAX_DEPTH = 40;

interface Place {
  readonly branch: Branch;
  readonly list: TreeItem[];
  readonly depth: number;
}

/** Without recursion (B14). */
function flatten(roots: readonly Branch[]): readonly TreeItem[] {
  const top: TreeItem[] = [];
  const left: Place[] = roots.map((branch) => ({ branch, list: top, depth: 0 })).reverse();
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    const { branch, list, depth } = place;
    const isIndented = branch.children.length > 1 && depth < MAX_DEPTH;
    const children: TreeItem[] = [];
    list.push({ node: branch.node, joins: branch.joins, children });
    const next = isIndented ? { list: children, depth: depth + 1 } : { list, depth };
    for (const child of branch.children.toReversed()) left.push({ branch: child, ...next });
  }
  return top;
}

/** Longest way from a start node. What is on a cycle, or comes after one, counts as a start. */
function depthsOf(nodes: readonly NodeOutline[]): ReadonlyMap<string, number> {
  const depths = new Map(nodes.map((node) => [node.id, 0]));
  const after = new Map<string, string[]>();
  const missing = new Map<string, number>();
  for (const node of nodes) {
    const before = node.after.filter((id) => depths.has(id));
    missing.set(node.id, before.length);
    for (const id of before) {
      const list = after.get(id);
      if (list === undefined) after.set(id, [node.id]);
      else list.push(node.id);
    }
  }
  const ready = nodes.filter((node) => missing.get(node.id) === 0).map((node) => node.id);
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    for (const next of after.get(id) ?? []) {
      depths.set(next, Math.max(depths.get(next) ?? 0, (depths.get(id) ?? 0) + 1));
      const left = (missing.get(next) ?? 0) - 1;
      missing.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  return depths;
}

function nearestCommon(branches: readonly Branch[]): Branch | undefined {
  if (branches.length <= 1) return branches[0];
  const [first, ...others] = branches.map(lineage);
  return first?.find((candidate) => others.every((line) => line.includes(candidate)));
}

/** The branch itself, then what it stands under, up to a root. */
function lineage(branch: Branch): Branch[] {
  const line: Branch[] = [];
  for (let at: Branch | undefined = branch; at !== undefined; at = at.parent) line.push(at);
  return line;
}
