import type { Action, DispatchTask, Journal, SetTimer } from '../run/actions.js';
import type { BufferedSignal, LeaseFacts, Loaded, Needs, TimerRow } from '../run/decide-types.js';
import type { JsonText } from '../run/state.js';

/**
 * The rows outside the state, as the engine's store keeps them, with a clock that tests move. It applies actions and
 * answers `needs`: what the real store does with SQL and the database's clock (R9, R27).
 */
export class FakeStore {
  now = 0;
  runInput: JsonText | null = null;
  output: JsonText | null = null;
  readonly tasks = new Map<string, TaskRow>();
  readonly signals = new Map<string, SignalRow>();
  readonly timers = new Map<string, TimerEntry>();
  readonly journal: Journal[] = [];
  readonly dispatches: DispatchTask[] = [];

  apply(actions: readonly Action[]): void {
    for (const action of actions) this.applyOne(action);
  }

  answer(needs: Needs, loaded: Loaded): Loaded {
    return {
      ...loaded,
      ...(needs.runInput === true ? { runInput: this.runInput } : {}),
      ...(needs.payloads && {
        payloads: merge(loaded.payloads, needs.payloads, (id) => {
          const row = this.tasks.get(id);
          return row === undefined ? undefined : { input: row.input, output: row.output };
        }),
      }),
      ...(needs.leases && { leases: merge(loaded.leases, needs.leases, (id) => this.facts(id)) }),
      ...(needs.signals && { signals: merge(loaded.signals, needs.signals, (name) => this.buffered(name)) }),
      ...(needs.knownSignals && {
        knownSignals: merge(loaded.knownSignals, needs.knownSignals, (id) => this.signals.get(id)),
      }),
      ...(needs.expiredSignals && {
        expiredSignals: [...this.signals.values()].filter((row) => !row.consumed && row.expiresAt <= this.now),
      }),
      ...(needs.timers && { timers: merge(loaded.timers, needs.timers, (id) => this.timerRow(id)) }),
    };
  }

  /** A worker takes the task; a lease that has run out is never granted again. */
  lease(taskId: string, owner = 'worker'): void {
    const row = this.row(taskId);
    if (row.leaseId !== null) throw new Error(`task ${taskId} is leased`);
    row.leaseId = `lease-${taskId}-${row.dispatch?.attempt ?? 0}`;
    row.leaseOwner = owner;
    row.leaseExpiresAt = this.now + (row.dispatch?.deadlines.heartbeatMs ?? 0);
    row.startToCloseAt = this.now + (row.dispatch?.deadlines.startToCloseMs ?? 0);
  }

  heartbeat(taskId: string): void {
    const row = this.row(taskId);
    const until = this.now + (row.dispatch?.deadlines.heartbeatMs ?? 0);
    row.leaseExpiresAt = Math.min(until, row.cutOffAt ?? Number.POSITIVE_INFINITY);
  }

  isLeased(taskId: string): boolean {
    return this.tasks.get(taskId)?.leaseId !== null && this.tasks.has(taskId);
  }

  /** When the row wants to be woken: the least of its instants that still matter. */
  wakeAt(taskId: string): number {
    const row = this.row(taskId);
    if (row.backoffAt !== null) return Math.min(row.backoffAt, row.scheduleToCloseAt);
    if (row.cutOffAt !== null) return Math.min(row.cutOffAt, row.leaseExpiresAt);
    if (row.leaseId !== null) return Math.min(row.leaseExpiresAt, row.startToCloseAt, row.scheduleToCloseAt);
    return Math.min(row.scheduleToStartAt, row.redispatchAt, row.scheduleToCloseAt);
  }

  private applyOne(action: Action): void {
    switch (action.type) {
      case 'CreateTask':
        if (this.tasks.has(action.taskId)) throw new Error('a task was created twice');
        this.tasks.set(action.taskId, newRow(action.input));
        return;
      case 'DispatchTask':
        this.dispatches.push(action);
        this.dispatch(this.row(action.taskId), action);
        return;
      case 'CompleteTask':
      case 'ResolveWait':
        this.close(action.taskId, action.output);
        return;
      case 'FailTask':
        this.close(action.taskId, null);
        return;
      case 'RetryTask': {
        const row = this.row(action.taskId);
        clearAttempt(row);
        row.backoffAt = this.now + action.backoffMs;
        return;
      }
      case 'CutOffTask':
        this.row(action.taskId).cutOffAt = this.now + action.graceMs;
        return;
      case 'CancelTasks':
        for (const taskId of action.taskIds) this.close(taskId, null);
        return;
      case 'BufferSignal':
      case 'ConsumeSignal':
        this.applySignal(action);
        return;
      case 'SetTimer':
        this.setTimer(action);
        return;
      case 'ClearTimers':
        for (const timer of [...this.timers.values()]) if (matches(action, timer)) this.timers.delete(timer.timerId);
        return;
      case 'ReopenRun':
        if (action.input !== null) this.runInput = action.input;
        return;
      case 'FinishRun':
        this.output = action.output;
        return;
      case 'Journal':
        this.journal.push(action);
        return;
      case 'WakeTask':
      case 'ReplanUndo':
      case 'BeginCompensation':
        return;
    }
  }

  private dispatch(row: TaskRow, action: DispatchTask): void {
    clearAttempt(row);
    const { deadlines } = action;
    row.dispatch = action;
    row.input = action.input;
    row.scheduleToStartAt = after(this.now, deadlines.scheduleToStartMs);
    row.redispatchAt = deadlines.scheduleToStartMs === null ? this.now + deadlines.redispatchAfterMs : NEVER;
    if (row.scheduleToCloseAt === NEVER || deadlines.restartScheduleToClose === true) {
      row.scheduleToCloseAt = after(this.now, deadlines.scheduleToCloseMs);
    }
  }

  private close(taskId: string, output: JsonText | null): void {
    const row = this.row(taskId);
    clearAttempt(row);
    if (output !== null) row.output = output;
  }

  private applySignal(action: Extract<Action, { type: 'BufferSignal' | 'ConsumeSignal' }>): void {
    if (action.type === 'BufferSignal' || action.insert !== null) {
      if (this.signals.has(action.signalId)) throw new Error('a signal was inserted twice');
      const content = action.type === 'BufferSignal' ? action : action.insert;
      if (content === null) return;
      this.signals.set(action.signalId, {
        signalId: action.signalId,
        name: action.name,
        payload: content.payload,
        payloadHash: content.payloadHash,
        seq: content.seq,
        expiresAt: action.type === 'BufferSignal' ? after(this.now, action.expiresInMs) : NEVER,
        consumed: action.type === 'ConsumeSignal',
      });
      return;
    }
    const row = this.signals.get(action.signalId);
    if (row === undefined || row.consumed) throw new Error('a signal was consumed that is not there');
    row.consumed = true;
  }

  private setTimer(action: SetTimer): void {
    const { timerId, kind, nodeId, generation } = action;
    this.timers.set(timerId, { timerId, kind, nodeId, generation, dueAt: this.now + action.afterMs });
  }

  private facts(taskId: string): LeaseFacts | undefined {
    const row = this.tasks.get(taskId);
    if (row === undefined) return undefined;
    const leased = row.leaseId !== null;
    return {
      leaseId: row.leaseId,
      leaseOwner: row.leaseOwner,
      leaseExpired: leased && row.leaseExpiresAt <= this.now,
      startToClosePassed: leased && row.startToCloseAt <= this.now,
      scheduleToStartPassed: row.scheduleToStartAt <= this.now,
      scheduleToClosePassed: row.scheduleToCloseAt <= this.now,
      redispatchDue: !leased && row.redispatchAt <= this.now,
      backoffOver: row.backoffAt !== null && row.backoffAt <= this.now,
      cutOffOver: row.cutOffAt !== null && row.cutOffAt <= this.now,
    };
  }

  private buffered(name: string): readonly BufferedSignal[] | undefined {
    const found = [...this.signals.values()]
      .filter((signal) => signal.name === name && !signal.consumed && signal.expiresAt > this.now)
      .sort((a, b) => a.seq - b.seq);
    return found.length === 0 ? undefined : found;
  }

  private timerRow(timerId: string): TimerRow | undefined {
    const timer = this.timers.get(timerId);
    if (timer === undefined) return undefined;
    const { dueAt, ...row } = timer;
    return { ...row, due: dueAt <= this.now };
  }

  private row(taskId: string): TaskRow {
    const row = this.tasks.get(taskId);
    if (row === undefined) throw new Error(`no row ${taskId}`);
    return row;
  }
}

const NEVER = Number.POSITIVE_INFINITY;

export interface TaskRow {
  input: JsonText | null;
  output: JsonText | null;
  dispatch: DispatchTask | null;
  leaseId: string | null;
  leaseOwner: string | null;
  leaseExpiresAt: number;
  startToCloseAt: number;
  scheduleToStartAt: number;
  redispatchAt: number;
  scheduleToCloseAt: number;
  backoffAt: number | null;
  cutOffAt: number | null;
}

interface SignalRow extends BufferedSignal {
  readonly seq: number;
  readonly expiresAt: number;
  consumed: boolean;
}

export interface TimerEntry extends Omit<TimerRow, 'due'> {
  readonly dueAt: number;
}

function newRow(input: JsonText | null): TaskRow {
  return {
    input,
    output: null,
    dispatch: null,
    leaseId: null,
    leaseOwner: null,
    leaseExpiresAt: NEVER,
    startToCloseAt: NEVER,
    scheduleToStartAt: NEVER,
    redispatchAt: NEVER,
    scheduleToCloseAt: NEVER,
    backoffAt: null,
    cutOffAt: null,
  };
}

function clearAttempt(row: TaskRow): void {
  Object.assign(row, {
    ...newRow(row.input),
    output: row.output,
    dispatch: row.dispatch,
    scheduleToCloseAt: row.scheduleToCloseAt,
  });
}

function after(now: number, ms: number | null): number {
  return ms === null ? NEVER : now + ms;
}

function matches(action: Extract<Action, { type: 'ClearTimers' }>, timer: TimerEntry): boolean {
  switch (action.which.scope) {
    case 'all':
      return true;
    case 'kind':
      return timer.kind === action.which.kind;
    case 'node':
      return timer.nodeId === action.which.nodeId;
    case 'id':
      return timer.timerId === action.which.timerId;
  }
}

function merge<T>(
  before: ReadonlyMap<string, T> | undefined,
  keys: readonly string[],
  read: (key: string) => T | undefined,
): ReadonlyMap<string, T> {
  const all = new Map(before);
  for (const key of keys) {
    const value = read(key);
    if (value !== undefined) all.set(key, value);
  }
  return all;
}
