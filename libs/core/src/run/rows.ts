import type { Dag } from '../definition/model.js';
import type { RunState, TaskKind, TaskState } from './state.js';

/**
 * Which task rows count. A node has one forward row for each generation (R15); the newest one speaks for the node,
 * unless a retry of the run has reset the node and it has not started again.
 *
 * Such a node needs no mark of its own: a retry starts at least one node above it anew, so its own newest row is of
 * an older generation than a row above it. Rows of kept nodes never are: what is below a reset node is reset too (R16).
 */
export class RunRows {
  /** Built when it is first needed: only undos and later epochs ask for more than the newest rows. */
  private byNode: Map<string, string[]> | undefined;
  private readonly newest = new Map<string, TaskState>();
  private reset = new Set<string>();

  constructor(
    dag: Dag,
    private readonly state: RunState,
  ) {
    for (const task of state.tasks.values()) this.noteNewest(task);
    if (state.epoch > 1) this.reset = outrunNodes(dag, this.newest);
  }

  /** A row that this decision creates. */
  add(task: TaskState): void {
    if (this.byNode !== undefined) noteRow(this.byNode, task);
    this.noteNewest(task);
    if (task.kind === 'forward') this.reset.delete(task.nodeId);
  }

  /** A retry of the run: these nodes have no row that counts until they start again. */
  markReset(nodeIds: Iterable<string>): void {
    this.reset = new Set(nodeIds);
  }

  isReset(nodeId: string): boolean {
    return this.reset.has(nodeId);
  }

  /** The row that speaks for a node; undefined = not started. */
  current(nodeId: string): TaskState | undefined {
    return this.reset.has(nodeId) ? undefined : this.latest(nodeId);
  }

  /** The newest forward row, also of a node that has been reset. */
  latest(nodeId: string): TaskState | undefined {
    const newest = this.newest.get(nodeId);
    return newest === undefined ? undefined : this.state.tasks.get(newest.taskId);
  }

  /** All rows of a node of one kind, newest generation first. */
  of(nodeId: string, kind: TaskKind): TaskState[] {
    const rows: TaskState[] = [];
    for (const row of this.all(nodeId)) if (row.kind === kind) rows.push(row);
    return rows.sort((a, b) => b.generation - a.generation || a.item - b.item);
  }

  /** R11: attempts rise over all generations of (node, item, kind). */
  nextAttempt(task: TaskState): number {
    let highest = task.attempt;
    if (this.state.epoch === 1) return highest + 1; // there is one generation
    for (const row of this.all(task.nodeId)) {
      if (row.kind === task.kind && row.item === task.item) highest = Math.max(highest, row.attempt);
    }
    return highest + 1;
  }

  private noteNewest(task: TaskState): void {
    if (task.kind !== 'forward') return;
    const newest = this.newest.get(task.nodeId);
    if (newest === undefined || newest.generation < task.generation) this.newest.set(task.nodeId, task);
  }

  private all(nodeId: string): TaskState[] {
    if (this.byNode === undefined) {
      this.byNode = new Map();
      for (const task of this.state.tasks.values()) noteRow(this.byNode, task);
    }
    const rows: TaskState[] = [];
    for (const taskId of this.byNode.get(nodeId) ?? []) {
      const row = this.state.tasks.get(taskId);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }
}

function noteRow(byNode: Map<string, string[]>, task: TaskState): void {
  const ids = byNode.get(task.nodeId);
  if (ids === undefined) byNode.set(task.nodeId, [task.taskId]);
  else ids.push(task.taskId);
}

/** Nodes whose newest row is older than the newest row of a node above them. */
export function outrunNodes(dag: Dag, newest: ReadonlyMap<string, TaskState>): Set<string> {
  const above = new Map<string, number>();
  const outrun = new Set<string>();
  for (const nodeId of dag.order) {
    let highest = 0;
    for (const before of dag.nodes.get(nodeId)?.after ?? []) {
      highest = Math.max(highest, above.get(before) ?? 0, newest.get(before)?.generation ?? 0);
    }
    above.set(nodeId, highest);
    const own = newest.get(nodeId);
    if (own !== undefined && own.generation < highest) outrun.add(nodeId);
  }
  return outrun;
}
