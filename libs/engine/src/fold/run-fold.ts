import type { Action, BufferSignal, ConsumeSignal, DispatchTask, Journal, LeaseFacts, RunEvent } from '@baton/core';
import type { RunState, TimerKind } from '@baton/core';
import { PUBLISHED_JOURNAL_KINDS, assertNever } from '@baton/core';
import type { LeasedTask, LeaseWish } from '../api.js';
import type { EventNames } from '../options.js';
import type { JournalWrite, OutboxWrite, RunWrite, SignalWrite, TimerClear, TimerWrite } from '../ports.js';
import { hashOfRun, nameEvent, taskMessage, tasksTopic } from './messages.js';
import { TaskRows } from './task-rows.js';
import { WishedLeases } from './wished-leases.js';

/** What the engine adds to a decision: ids of outbox rows and leases, and the names of events. */
export interface FoldEnv {
  readonly newId: () => string;
  readonly events: EventNames;
}

/** One decision, with what the fold must know of how it came to be. */
export interface FoldedStep {
  readonly event: RunEvent;
  readonly actions: readonly Action[];
  /** `evolve(state, actions)`. */
  readonly state: RunState;
  /** Lease facts that the decision was made on, by task id. */
  readonly leases: ReadonlyMap<string, LeaseFacts> | undefined;
  /** The facts were read without locks: the write repeats them (R30). */
  readonly repeatsLeases: boolean;
  /** Who takes what the event dispatches, by the write itself; null = nobody. */
  readonly wish: LeaseWish | null;
}

/**
 * The net effect of the events that one batch holds for one run: at most one write for each row (R2). Journal and
 * outbox stay lists, in order. Nothing here asks the database anything.
 */
export class RunFold {
  readonly tasks: TaskRows;
  readonly journal: JournalWrite[] = [];
  readonly outbox: OutboxWrite[] = [];
  readonly signals = new Map<string, SignalWrite>();
  readonly timers = new Map<string, TimerWrite>();
  readonly clearTimers: TimerClear[] = [];
  readonly commands: { readonly commandId: string; readonly requestHash: string }[] = [];
  input: string | undefined;
  output: string | undefined;
  private current: RunState;
  private steps = 0;

  constructor(
    private readonly loaded: RunState,
    private readonly traceparent: string | null,
    private readonly env: FoldEnv,
  ) {
    this.current = loaded;
    this.tasks = new TaskRows(loaded);
  }

  get state(): RunState {
    return this.current;
  }

  /** The attempt of a row as it was loaded. */
  loadedAttempt(taskId: string): number {
    return this.loaded.tasks.get(taskId)?.attempt ?? 0;
  }

  get isEmpty(): boolean {
    return this.steps === 0 && this.commands.length === 0;
  }

  get rowCount(): number {
    return this.tasks.size + this.journal.length + this.outbox.length + this.signals.size + this.timers.size + 1;
  }

  /**
   * Can one row hold what these actions add to what is pending? If not, the event waits for the next batch: an
   * attempt that begins and ends within one write would lose the instants in between.
   */
  takes(actions: readonly Action[]): boolean {
    return this.steps === 0 || this.tasks.takes(actions);
  }

  /** Answers what the write leases for the one whose event this is. */
  add(step: FoldedStep): readonly LeasedTask[] {
    const before = this.current;
    this.current = step.state;
    this.steps += 1;
    if (step.repeatsLeases) this.repeatLeases(step);
    const leases = new WishedLeases(step.wish, this.traceparent, this.env.newId);
    let runSeq = before.outboxSeq;
    for (const action of step.actions) {
      runSeq =
        action.type === 'DispatchTask'
          ? this.addDispatch(action, leases, runSeq)
          : this.addAction(action, step, runSeq);
    }
    return leases.tasks;
  }

  private repeatLeases({ leases, state }: FoldedStep): void {
    for (const [taskId, { leaseId }] of leases ?? []) {
      if (state.tasks.has(taskId)) this.tasks.repeatLease(taskId, leaseId);
    }
  }

  toWrite(): RunWrite {
    const run = this.current;
    return {
      namespace: run.namespace,
      runId: run.runId,
      expectedVersion: this.loaded.version,
      run: {
        definitionVersion: run.definitionVersion,
        status: run.status,
        cause: run.cause,
        undo: run.undo,
        epoch: run.epoch,
        journalSeq: run.journalSeq,
        outboxSeq: run.outboxSeq,
        bufferedSignals: run.bufferedSignals,
        failure: run.failure,
      },
      tasks: this.tasks.toWrites(run),
      journal: this.journal,
      outbox: this.outbox,
      signals: [...this.signals.values()],
      timers: [...this.timers.values()],
      clearTimers: this.clearTimers,
      commands: this.commands,
      payloads: {
        ...(this.input === undefined ? {} : { input: this.input }),
        ...(this.output === undefined ? {} : { output: this.output }),
      },
    };
  }

  /** Answers the last run_seq used. Every action has its rows here. */
  private addAction(action: Exclude<Action, DispatchTask>, step: FoldedStep, runSeq: number): number {
    switch (action.type) {
      case 'Journal':
        return this.addJournal(action, runSeq);
      case 'CreateTask':
      case 'CompleteTask':
      case 'FailTask':
      case 'RetryTask':
      case 'ResolveWait':
      case 'CutOffTask':
      case 'WakeTask':
      case 'CancelTasks':
      case 'ReplanUndo':
        this.tasks.add(action, step);
        return runSeq;
      case 'BufferSignal':
      case 'ConsumeSignal':
        this.addSignal(action);
        return runSeq;
      case 'SetTimer':
        this.timers.set(action.timerId, timerWrite(action));
        return runSeq;
      case 'ClearTimers':
        this.clear(action.which);
        return runSeq;
      case 'ReopenRun':
        if (action.input !== null) this.input = action.input;
        return runSeq;
      case 'FinishRun':
        if (action.output !== null) this.output = action.output;
        return runSeq;
      case 'BeginCompensation':
        return runSeq; // status, cause and failure are columns of the run row
      default:
        return assertNever(action);
    }
  }

  private addDispatch(action: DispatchTask, leases: WishedLeases, runSeq: number): number {
    const run = this.current;
    const lease = leases.take(run, action);
    this.tasks.dispatch(action, lease);
    // R29: a local route is claimed from the row. A leased task is in its worker's hands already.
    if (run.route === 'local') return runSeq;
    if (lease === null) {
      this.pushOutbox(runSeq + 1, tasksTopic(run.namespace, action.queue), 'task.dispatched', taskMessage(run, action));
    }
    return runSeq + 1;
  }

  private addJournal(action: Journal, runSeq: number): number {
    const run = this.current;
    const { type: _type, ...row } = action;
    this.journal.push({ ...row, epoch: run.epoch });
    if (!PUBLISHED_JOURNAL_KINDS.has(action.kind)) return runSeq;
    const { topic, type, payload } = nameEvent(this.env.events, run, action);
    this.pushOutbox(runSeq + 1, topic, type, payload);
    return runSeq + 1;
  }

  private pushOutbox(runSeq: number, topic: string, type: string, payload: string): void {
    this.outbox.push({
      id: this.env.newId(),
      runSeq,
      topic,
      type,
      payload,
      traceparent: this.traceparent,
      shard: hashOfRun(this.loaded.runId) & 255,
    });
  }

  private addSignal(action: BufferSignal | ConsumeSignal): void {
    const { signalId, name } = action;
    if (action.type === 'BufferSignal') {
      const { payload, payloadHash, expiresInMs, seq } = action;
      const row = { signalId, name, payload, payloadHash, expiresInMs, consumedBy: null, seq };
      this.signals.set(signalId, { op: 'insert-buffered', ...row });
      return;
    }
    const consumedBy = action.byTaskId;
    const pending = this.signals.get(signalId);
    if (pending !== undefined) {
      this.signals.set(signalId, { ...pending, op: 'insert-consumed', consumedBy });
      return;
    }
    const { insert } = action;
    const bare = { signalId, name, expiresInMs: null, consumedBy };
    this.signals.set(
      signalId,
      insert === null
        ? { op: 'consume', ...bare, payload: null, payloadHash: null, seq: this.current.journalSeq }
        : { op: 'insert-consumed', ...bare, ...insert },
    );
  }

  /** Rows that were set in this batch go here; the statement deletes those that stood before it. */
  private clear(which: TimerClear): void {
    for (const [timerId, timer] of this.timers) {
      if (isCleared(timer, which)) this.timers.delete(timerId);
    }
    this.clearTimers.push(which);
  }
}

function timerWrite(action: Extract<Action, { type: 'SetTimer' }>): TimerWrite {
  const { timerId, kind, nodeId, generation, afterMs, from } = action;
  return { timerId, kind, nodeId, generation, afterMs, from };
}

export function isCleared(
  timer: { readonly timerId: string; readonly kind: TimerKind; readonly nodeId: string | null },
  which: TimerClear,
): boolean {
  switch (which.scope) {
    case 'all':
      return true;
    case 'kind':
      return timer.kind === which.kind;
    case 'node':
      return timer.nodeId === which.nodeId;
    case 'id':
      return timer.timerId === which.timerId;
    default:
      return assertNever(which);
  }
}
