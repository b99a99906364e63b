import type { Action, CreateTask, DispatchTask, FailTask, JsonText, RetryTask, RunState, TaskState } from '@baton/core';
import { assertNever } from '@baton/core';
import type { NewLease, TaskWrite } from '../ports.js';
import type { FoldedStep } from './run-fold.js';

type Wake = TaskWrite['wake'];
type LeaseFence = NonNullable<TaskWrite['leaseFence']>;

export type TaskAction = Exclude<
  Extract<Action, { readonly taskId: string }> | Extract<Action, { type: 'CancelTasks' }>,
  { type: 'Journal' | 'DispatchTask' }
>;

/** What the pending write of one task row holds besides the row's final state. */
interface PendingRow {
  readonly op: 'insert' | 'update';
  wake: Wake;
  leaseFence: LeaseFence | null;
  /** The lease that a decision without locks saw (R30); undefined = none looked. */
  seenLease: string | null | undefined;
  queue: string | null;
  handler: string | null;
  /** undefined = leave the column as it is. */
  input: JsonText | null | undefined;
  output: JsonText | null | undefined;
}

/** Net effect on the task rows of one run (R2): insert final, update final fenced on what was loaded, or nothing. */
export class TaskRows {
  private readonly rows = new Map<string, PendingRow>();

  constructor(private readonly loaded: RunState) {}

  get size(): number {
    return this.rows.size;
  }

  pending(taskId: string): Readonly<PendingRow> | undefined {
    return this.rows.get(taskId);
  }

  entries(): IterableIterator<[string, Readonly<PendingRow>]> {
    return this.rows.entries();
  }

  takes(actions: readonly Action[]): boolean {
    for (const action of actions) {
      if (action.type === 'Journal' || action.type === 'CreateTask' || action.type === 'WakeTask') continue;
      if (action.type === 'CancelTasks') {
        if (action.taskIds.some((taskId) => this.hasInstants(taskId))) return false;
      } else if ('taskId' in action && this.hasInstants(action.taskId)) {
        return false;
      }
    }
    return true;
  }

  /** Does the pending write set instants of an attempt that a later event would overwrite? */
  private hasInstants(taskId: string): boolean {
    const kind = this.rows.get(taskId)?.wake.kind;
    return kind === 'dispatch' || kind === 'backoff' || kind === 'cut-off';
  }

  dispatch(action: DispatchTask, lease: NewLease | null): void {
    const row = this.row(action.taskId);
    row.wake = { kind: 'dispatch', deadlines: action.deadlines, lease };
    row.queue = action.queue;
    row.handler = action.handler;
    // Later attempts carry the same input: the column is written once.
    if ((this.loaded.tasks.get(action.taskId)?.attempt ?? 0) === 0) row.input = action.input;
  }

  add(action: TaskAction, step: FoldedStep): void {
    switch (action.type) {
      case 'CreateTask':
        this.rows.set(action.taskId, createdRow(action));
        return;
      case 'CompleteTask':
        this.close(action.taskId).output = action.output;
        return;
      case 'FailTask':
        this.fence(this.close(action.taskId), action, step);
        return;
      case 'RetryTask': {
        const row = this.row(action.taskId);
        row.wake = { kind: 'backoff', ms: action.backoffMs };
        this.fence(row, action, step);
        return;
      }
      case 'ResolveWait': {
        const row = this.close(action.taskId);
        if (action.output !== null) row.output = action.output;
        return;
      }
      case 'CutOffTask':
        this.row(action.taskId).wake = { kind: 'cut-off', ms: action.graceMs };
        return;
      case 'WakeTask': {
        const row = this.row(action.taskId);
        if (row.wake.kind === 'keep') row.wake = { kind: 'rearm' };
        return;
      }
      case 'CancelTasks':
        for (const taskId of action.taskIds) this.close(taskId);
        return;
      case 'ReplanUndo':
        this.row(action.taskId).wake = { kind: 'idle' };
        return;
      default:
        assertNever(action);
    }
  }

  /** R30: also a row that the decision only looked at is written, so that the statement compares it. */
  repeatLease(taskId: string, leaseId: string | null): void {
    const pending = this.rows.get(taskId);
    // An attempt that begins with this write has what it says.
    if (pending?.op === 'insert' || pending?.wake.kind === 'dispatch') return;
    this.row(taskId).seenLease = leaseId;
  }

  toWrites(final: RunState): TaskWrite[] {
    const writes: TaskWrite[] = [];
    for (const [taskId, row] of this.rows) {
      const state = final.tasks.get(taskId);
      if (state === undefined) throw new Error(`task ${taskId} has a write but no state`);
      writes.push({
        op: row.op,
        state,
        fence: row.op === 'insert' ? null : { attempt: this.loadedRow(taskId).attempt },
        leaseFence: row.leaseFence ?? seenFence(row),
        queue: row.queue,
        handler: row.handler,
        ...(row.input === undefined ? {} : { input: row.input }),
        ...(row.output === undefined ? {} : { output: row.output }),
        wake: row.wake,
      });
    }
    return writes;
  }

  private close(taskId: string): PendingRow {
    const row = this.row(taskId);
    row.wake = { kind: 'close' };
    return row;
  }

  /** R9: an attempt that is ended by time while it is leased repeats the lease and the instant that has passed. */
  private fence(row: PendingRow, action: FailTask | RetryTask, step: FoldedStep): void {
    const leaseId = step.leases?.get(action.taskId)?.leaseId ?? null;
    if (action.endedBy !== undefined && leaseId !== null) row.leaseFence = { leaseId, passed: action.endedBy };
  }

  private row(taskId: string): PendingRow {
    const known = this.rows.get(taskId);
    if (known !== undefined) return known;
    const row: PendingRow = {
      op: 'update',
      wake: { kind: 'keep' },
      leaseFence: null,
      seenLease: undefined,
      queue: null,
      handler: null,
      input: undefined,
      output: undefined,
    };
    this.rows.set(taskId, row);
    return row;
  }

  private loadedRow(taskId: string): TaskState {
    const row = this.loaded.tasks.get(taskId);
    if (row === undefined) throw new Error(`task ${taskId} is written but was not loaded`);
    return row;
  }
}

function seenFence({ seenLease }: PendingRow): LeaseFence | null {
  return seenLease === undefined ? null : { leaseId: seenLease, passed: null };
}

function createdRow(action: CreateTask): PendingRow {
  const settled = action.status === 'SKIPPED' || action.status === 'FAILED';
  return {
    op: 'insert',
    wake: { kind: settled ? 'close' : 'idle' },
    leaseFence: null,
    seenLease: undefined,
    queue: null,
    handler: null,
    input: action.input,
    output: undefined,
  };
}
