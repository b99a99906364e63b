import { jsonPointer } from '../json/path.js';
import type { Edges, GraphOrder } from './graph.js';
import { findKnots, sortTopologically, successorsOf } from './graph.js';
import type { IssueList } from './issues.js';
import type { ReadNode } from './read-node.js';
import type { Template } from './model.js';
import { Ancestors } from './upstream.js';

/** Longest cycle that is printed in full. */
const MAX_PRINTED_CYCLE = 50;

/** Everything about nodes together: ids, edges, cycles, and what templates read. */
export function checkGraph(nodes: readonly ReadNode[], output: Template | null, issues: IssueList): void {
  const byId = checkIds(nodes, issues);
  const before = checkEdges(nodes, byId, issues);
  const successors = successorsOf(before);
  const graph = sortTopologically(before, successors);
  checkCycles(graph, successors, byId, issues);
  checkReferences({ nodes, byId, before, graph }, issues);
  if (output === null) return;
  for (const { nodeId, pointer } of output.references) {
    if (!byId.has(nodeId)) issues.add('error', 'UNKNOWN_NODE', `/output${pointer}`, `there is no node ${nodeId}`);
  }
}

type ById = ReadonlyMap<string, ReadNode>;

/** B87: ids are unique, also where only the case differs: `pay` and `Pay` are one name to most people. */
function checkIds(nodes: readonly ReadNode[], issues: IssueList): ById {
  const byId = new Map<string, ReadNode>();
  const groups = new Map<string, ReadNode[]>();
  for (const node of nodes) {
    if (node.id === undefined) continue;
    if (!byId.has(node.id)) byId.set(node.id, node);
    const group = groups.get(node.id.toLowerCase());
    if (group === undefined) groups.set(node.id.toLowerCase(), [node]);
    else group.push(node);
  }
  for (const group of groups.values()) {
    if (group.length < 2) continue;
    const places = group.map((node) => `/nodes/${node.index}/id`).join(', ');
    for (const node of group) {
      issues.error('DUPLICATE_ID', ['nodes', node.index, 'id'], `${node.id} is used more than once: ${places}`);
    }
  }
  return byId;
}

function checkEdges(nodes: readonly ReadNode[], byId: ById, issues: IssueList): Edges {
  const ignoringCase = new Map([...byId.keys()].map((id) => [id.toLowerCase(), id]));
  const before = new Map<string, string[]>();
  for (const node of nodes) {
    if (node.id === undefined || byId.get(node.id) !== node) continue;
    const known: string[] = [];
    for (const { to, index } of node.after) {
      const path = ['nodes', node.index, 'after', index];
      if (to === node.id) issues.error('SELF_REFERENCE', path, `${to} cannot come after itself`);
      else if (byId.has(to)) known.push(to);
      else issues.error('UNKNOWN_NODE', path, unknownNode(to, ignoringCase.get(to.toLowerCase())));
    }
    before.set(node.id, known);
  }
  return before;
}

function unknownNode(nodeId: string, meant: string | undefined): string {
  const suggestion = meant === undefined ? '' : `; ${meant} is meant?`;
  return `there is no node ${JSON.stringify(nodeId)}${suggestion}`;
}

function checkCycles(graph: GraphOrder, successors: Edges, byId: ById, issues: IssueList): void {
  const onCycle = new Set<string>();
  for (const { members, cycle } of findKnots(graph.rest, successors)) {
    for (const nodeId of members) onCycle.add(nodeId);
    const first = byId.get(cycle[0] ?? '');
    if (first !== undefined) issues.error('CYCLE', ['nodes', first.index, 'after'], printCycle(cycle));
  }
  for (const nodeId of graph.rest) {
    const node = byId.get(nodeId);
    if (node === undefined || onCycle.has(nodeId)) continue;
    issues.error('UNREACHABLE', ['nodes', node.index], `${nodeId} can never start: it comes after a cycle`);
  }
}

function printCycle(cycle: readonly string[]): string {
  if (cycle.length <= MAX_PRINTED_CYCLE) return `a cycle: ${cycle.join(' → ')}`;
  const shown = cycle.slice(0, MAX_PRINTED_CYCLE);
  return `a cycle of ${cycle.length - 1} nodes: ${shown.join(' → ')} → … → ${cycle[0]}`;
}

interface Checked {
  readonly nodes: readonly ReadNode[];
  readonly byId: ById;
  readonly before: Edges;
  readonly graph: GraphOrder;
}

/** A node may read what lies above it: anything else may not have happened yet. An undo may read its own node too. */
function checkReferences({ nodes, byId, before, graph }: Checked, issues: IssueList): void {
  let ancestors: Ancestors | undefined;
  const unordered = new Set(graph.rest); // on or below a cycle: reported already, and nothing is above anything
  const isAbove = (above: string, nodeId: string): boolean => {
    if (unordered.has(nodeId) || before.get(nodeId)?.includes(above)) return true; // the usual case needs no table
    ancestors ??= new Ancestors(graph.order, before);
    return ancestors.isAbove(above, nodeId);
  };
  const check = (node: ReadNode, field: string[], template: Template | null, own: boolean): void => {
    for (const { nodeId, pointer } of template?.references ?? []) {
      const at = jsonPointer(['nodes', node.index, ...field]) + pointer;
      if (!byId.has(nodeId)) issues.add('error', 'UNKNOWN_NODE', at, `there is no node ${nodeId}`);
      else if (!(own && nodeId === node.id) && !isAbove(nodeId, node.id ?? '')) {
        issues.add('error', 'NOT_UPSTREAM', at, `${nodeId} does not lie above ${node.id ?? 'this node'}`);
      }
    }
  };
  for (const node of nodes) {
    if (node.spec?.type !== 'task') continue;
    check(node, ['input'], node.spec.input, false);
    check(node, ['compensate', 'input'], node.spec.compensate?.input ?? null, true);
  }
}
