import type { Dag } from '@baton/core';
import { DISPATCHES, ENDS_OF_TASK } from './journal-words.js';
import type { JournalRow, Problem } from './run-journal.js';

/** Detail of the journal row with which retryCompensation opens an epoch: no new forward phase. */
const RETRY_OF_COMPENSATION = 'retry of the compensation';

/**
 * I10: the order in which the journal says that undos were handed out. Looked at on the version that the run is pinned
 * to, so only since the forward phase that it was pinned in began.
 */
export class UndoReplay {
  problems: Problem[] = [];
  /** Undos that were planned in the present forward phase's compensation: task ids. */
  readonly planned = new Set<string>();
  private readonly open = new Map<string, string>();
  private readonly below = new Map<string, ReadonlySet<string>>();

  constructor(private readonly dag: Dag | null) {}

  take(row: JournalRow): void {
    if (row.kind === 'run.reopened' && row.detail !== RETRY_OF_COMPENSATION) this.restart();
    if (row.task_kind !== 'compensate' || row.task_id === null || row.node_id === null) return;
    if (row.kind === 'undo.planned') {
      this.planned.add(row.task_id);
      this.open.set(row.task_id, row.node_id);
    } else if (ENDS_OF_TASK.has(row.kind)) this.open.delete(row.task_id);
    else if (DISPATCHES.has(row.kind)) this.dispatched(row, row.node_id, row.task_id);
  }

  private restart(): void {
    this.problems = [];
    this.planned.clear();
    this.open.clear();
  }

  private dispatched(row: JournalRow, nodeId: string, taskId: string): void {
    const below = this.nodesBelow(nodeId);
    const early = [...this.open.values()].filter((other) => below.has(other));
    if (early.length === 0) return;
    const message = `undone at seq ${row.seq}, before the undo of ${early.join(', ')} had ended`;
    this.problems.push({ invariant: 'I10', code: 'UNDO_OUT_OF_ORDER', message, nodeId, about: taskId });
  }

  private nodesBelow(nodeId: string): ReadonlySet<string> {
    let found = this.below.get(nodeId);
    if (found === undefined) {
      const below = new Set<string>();
      const pending = [...(this.dag?.successors.get(nodeId) ?? [])];
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        if (below.has(next)) continue;
        below.add(next);
        pending.push(...(this.dag?.successors.get(next) ?? []));
      }
      found = below;
      this.below.set(nodeId, found);
    }
    return found;
  }
}
