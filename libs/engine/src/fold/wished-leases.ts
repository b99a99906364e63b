import type { DispatchTask, RunState } from '@baton/core';
import type { LeasedTask, LeaseWish } from '../api.js';
import type { NewLease } from '../ports.js';

/**
 * The leases that one event's wish takes of what the event dispatches.
 *
 * Only first attempts: what is dispatched again may have the progress of an earlier attempt, which the row alone knows,
 * and a task that its worker has just released is not meant to come back to it.
 */
export class WishedLeases {
  private readonly taken: LeasedTask[] = [];

  constructor(
    private readonly wish: LeaseWish | null,
    private readonly traceparent: string | null,
    private readonly newId: () => string,
  ) {}

  get tasks(): readonly LeasedTask[] {
    return this.taken;
  }

  take(run: RunState, task: DispatchTask): NewLease | null {
    const { wish } = this;
    if (wish === null || this.taken.length >= wish.max || task.attempt !== 1) return null;
    const { definitionId, definitionVersion } = run;
    const { nodeId, kind, queue, handler } = task;
    const wanted = { definitionId, definitionVersion, nodeId, kind, queue, handler };
    if (!wants(wish, wanted)) return null;
    const { heartbeatMs, startToCloseMs } = task.deadlines;
    // R14. The store says the same of what it grants.
    const ttlMs = wish.ttlMs > 0 ? Math.min(wish.ttlMs, heartbeatMs) : heartbeatMs;
    const leaseId = this.newId();
    this.taken.push({
      ...wanted,
      namespace: run.namespace,
      runId: run.runId,
      taskId: task.taskId,
      item: task.item,
      generation: task.generation,
      attempt: task.attempt,
      failures: run.tasks.get(task.taskId)?.failures ?? 0,
      epoch: run.epoch,
      traceparent: this.traceparent,
      leaseId,
      ttlMs,
      startToCloseMs,
      input: task.input,
    });
    return { leaseId, owner: wish.owner, ttlMs };
  }
}

/** A wish is a favour: one that throws gets nothing, and the batch of which its event is a part goes on. */
function wants(wish: LeaseWish, task: Parameters<NonNullable<LeaseWish['wants']>>[0]): boolean {
  try {
    return wish.wants?.(task) ?? true;
  } catch {
    return false;
  }
}
