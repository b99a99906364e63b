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
  return roots.flatMap(flatten);
}

function flatten({ node, joins, children }: Branch): TreeItem[] {
  const [only] = children;
  if (children.length === 1 && only !== undefined) return [{ node, joins, children: [] }, ...flatten(only)];
  return [{ node, joins, children: children.flatMap(flatten) }];
}

/** Longest way from a start node. At most one pass per node, so that it ends on a cycle too. */
function depthsOf(nodes: readonly NodeOutline[]): ReadonlyMap<string, number> {
  const depths = new Map(nodes.map((node) => [node.id, 0]));
  for (let pass = 0; pass < nodes.length; pass += 1) {
    let changed = false;
    for (const node of nodes) {
      const depth = Math.max(0, ...node.after.map((id) => (depths.get(id) ?? -1) + 1));
      changed ||= depth !== depths.get(node.id);
      depths.set(node.id, depth);
    }
    if (!changed) break;
  }
  return depths;
}

function nearestCommon(branches: readonly Branch[]): Branch | undefined {
  const [first, ...others] = branches.map(lineage);
  return first?.find((candidate) => others.every((line) => line.includes(candidate)));
}

/** The branch itself, then what it stands under, up to a root. */
function lineage(branch: Branch): Branch[] {
  const line: Branch[] = [];
  for (let at: Branch | undefined = branch; at !== undefined; at = at.parent) line.push(at);
  return line;
}
