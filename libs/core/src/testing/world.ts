import type { Dag } from '../definition/model.js';
import type { RunEvent } from '../run/events.js';
import { isTerminal } from '../run/status.js';
import type { TaskState } from '../run/state.js';
import type { Coverage } from './coverage.js';
import type { Step } from './arbitraries.js';
import type { FakeRun } from './fake-run.js';

/** What happens around a run: workers, clocks, people. Each step does what is possible at that moment, or nothing. */
export class World {
  private reports: RunEvent[] = [];
  private signals = 0;
  private readonly met = new Set<string>();

  /** The version that some retries move the run to. */
  nextDag: Dag | undefined;

  constructor(
    readonly run: FakeRun,
    private readonly coverage?: Coverage,
  ) {}

  start(startNodeId?: string): this {
    this.handle(startNodeId === undefined ? { type: 'RunStarted' } : { type: 'RunStarted', startNodeId });
    return this;
  }

  /** A status of the run, and a row that is seldom there, meet what can be sent to them: once in a history. */
  meet(pick: number): void {
    this.meetStatus(pick);
    const row = [...this.run.state.tasks.values()].find((task) => isRare(task) && !this.met.has(keyOf(task)));
    if (row === undefined) return;
    this.met.add(keyOf(row));
    for (const what of REPORTS) this.handle(reportOf({ what, pick, flag: true }, row, row.attempt + 1));
    this.handle({ type: 'TaskWoken', taskId: row.taskId, attempt: row.attempt });
    const now = this.run.state.tasks.get(row.taskId);
    const what = REPORTS[(pick + this.met.size) % REPORTS.length] ?? 'complete';
    if (now?.cutOff === true) this.report(reportOf({ what, pick, flag: pick % 2 === 0 }, now, now.attempt));
  }

  /** Workers have all that there is when a person cancels the run: what can be undone is cut off (R18). */
  cutOff(): void {
    const { run } = this;
    for (const { taskId, status } of run.state.tasks.values()) {
      if (status === 'SCHEDULED' && !run.store.isLeased(taskId)) run.store.lease(taskId);
    }
    this.step({ what: 'cancel', pick: 0, flag: true });
  }

  private meetStatus(pick: number): void {
    const { status } = this.run.state;
    if (status === 'RUNNING' || this.met.has(status)) return;
    this.met.add(status);
    for (const what of ['start-again', 'gone-timer', 'cancel'] as const) this.step({ what, pick, flag: true });
    if (status !== 'COMPENSATION_FAILED') this.step({ what: 'retry-compensation', pick, flag: true });
    for (const what of ['again', 'other content', 'new'] as const) this.signal('go', what);
    this.handle({ type: 'RunRetried', commandId: 'r', fromNodeId: 'nowhere' });
    const task = this.choose({ what: 'lease', pick, flag: true }, () => true);
    if (task === undefined) return;
    for (const what of REPORTS) this.handle(reportOf({ what, pick, flag: true }, task, task.attempt + 1));
    this.handle({ type: 'TaskWoken', taskId: task.taskId, attempt: task.attempt - 1 });
  }

  step(step: Step): void {
    const { run } = this;
    switch (step.what) {
      case 'lease': {
        const task = this.choose(step, (row) => row.status === 'SCHEDULED' && !run.store.isLeased(row.taskId));
        if (task !== undefined && !task.cutOff) run.store.lease(task.taskId);
        return;
      }
      case 'heartbeat': {
        const task = this.choose(step, (row) => run.store.isLeased(row.taskId));
        if (task !== undefined) run.store.heartbeat(task.taskId);
        return;
      }
      case 'complete':
      case 'fail':
      case 'release':
      case 'defer': {
        const task = this.choose(step, (row) => run.store.isLeased(row.taskId));
        if (task !== undefined) this.report(reportOf(step, task, task.attempt));
        return;
      }
      case 'stale-report': {
        const task = this.choose(step, () => true);
        if (task !== undefined) this.handle(staleReportOf(step, task));
        return;
      }
      case 'repeat-report': {
        const report = this.reports[step.pick % Math.max(1, this.reports.length)];
        if (report !== undefined) this.handle(report);
        return;
      }
      case 'time':
        this.passTime();
        return;
      case 'early-wake': {
        const task = this.choose(step, () => true);
        if (task !== undefined) this.handle({ type: 'TaskWoken', taskId: task.taskId, attempt: task.attempt });
        return;
      }
      case 'gone-timer':
        this.handle({ type: 'TimerFired', timerId: 'gone' });
        return;
      default:
        this.command(step);
    }
  }

  private command(step: Step): void {
    const { run } = this;
    switch (step.what) {
      case 'signal':
        this.signal(step.flag ? 'go' : 'stop', (['new', 'again', 'other content'] as const)[step.pick % 5] ?? 'new');
        return;
      case 'cancel':
        this.handle({ type: 'RunCancelled', commandId: 'c', reason: 'a person asked' });
        return;
      case 'retry': {
        const dag = step.pick % 3 === 0 ? (this.nextDag ?? run.dag) : run.dag;
        const nodeId = dag.order[step.pick % dag.order.length];
        const from = step.flag && nodeId !== undefined ? { fromNodeId: nodeId } : {};
        this.handle({ type: 'RunRetried', commandId: 'r', ...from }, dag);
        return;
      }
      case 'retry-compensation':
        this.handle({ type: 'CompensateRun', commandId: 'x', scope: 'failed-undos' });
        return;
      case 'start-again':
        this.handle({ type: 'RunStarted' });
        return;
      default:
        throw new Error(`no such step: ${step.what}`);
    }
  }

  /** The next thing that the clock brings: a task's wake-up or a timer. false = there is none. */
  passTime(): boolean {
    const { store, state } = this.run;
    let due: { at: number; event: RunEvent } | undefined;
    const consider = (at: number, event: RunEvent): void => {
      if (at !== Number.POSITIVE_INFINITY && (due === undefined || at < due.at)) due = { at, event };
    };
    for (const task of state.tasks.values()) {
      if (task.status !== 'SCHEDULED' && task.status !== 'BACKOFF') continue;
      consider(store.wakeAt(task.taskId), { type: 'TaskWoken', taskId: task.taskId, attempt: task.attempt });
    }
    for (const timer of store.timers.values()) consider(timer.dueAt, { type: 'TimerFired', timerId: timer.timerId });
    if (due === undefined) return false;
    store.now = Math.max(store.now, due.at);
    this.handle(due.event);
    return true;
  }

  signal(name: string, what: 'new' | 'again' | 'other content' = 'new'): void {
    if (what === 'new') this.signals += 1;
    const payload = what === 'other content' ? '{"n":0}' : `{"n":${this.signals}}`;
    const signalId = `s${this.signals}`;
    this.handle({ type: 'SignalReceived', signalId, name, payload, payloadHash: payload });
  }

  /** A world that does its part until the run has ended. Answers the number of steps, or throws when it never ends. */
  drain(worker: 'does its work' | 'fails' | 'dies'): number {
    for (let steps = 0; steps < 2_000; steps += 1) {
      if (isTerminal(this.run.state.status)) return steps;
      this.drainOnce(worker);
    }
    throw new Error(`the run never ends: ${JSON.stringify([...this.run.state.tasks.values()])}`);
  }

  private drainOnce(worker: 'does its work' | 'fails' | 'dies'): void {
    const { run } = this;
    const scheduled = [...run.state.tasks.values()].find((row) => row.status === 'SCHEDULED');
    if (scheduled !== undefined && worker !== 'dies') {
      if (!run.store.isLeased(scheduled.taskId)) run.store.lease(scheduled.taskId);
      const what = worker === 'fails' ? 'fail' : 'complete';
      this.report(reportOf({ what, pick: 1, flag: true }, scheduled, scheduled.attempt));
      return;
    }
    const waiting = [...run.state.tasks.values()].find((row) => row.status === 'WAITING');
    if (waiting !== undefined) {
      const node = run.dag.nodes.get(waiting.nodeId);
      if (node?.type === 'wait') this.signal(node.signal);
      return;
    }
    for (const row of run.state.tasks.values()) {
      if (row.status === 'SCHEDULED' && !run.store.isLeased(row.taskId)) run.store.lease(row.taskId);
    }
    if (!this.passTime()) throw new Error('nothing will ever wake the run');
  }

  private report(event: RunEvent): void {
    this.reports.push(event);
    this.handle(event);
  }

  private handle(event: RunEvent, dag = this.run.dag): void {
    const before = this.run.state;
    const decision = this.run.handle(event, dag);
    this.coverage?.note(event, before, decision);
  }

  private choose(step: Step, fits: (task: TaskState) => boolean): TaskState | undefined {
    const tasks = [...this.run.state.tasks.values()].filter(fits);
    return tasks[step.pick % Math.max(1, tasks.length)];
  }
}

function isRare({ kind, status, cutOff }: TaskState): boolean {
  return cutOff || kind === 'compensate' || status === 'BACKOFF' || status === 'WAITING';
}

function keyOf({ taskId, kind, status, cutOff }: TaskState): string {
  return cutOff ? `cut off ${taskId}` : `${kind} ${status}`;
}

const REPORTS = ['complete', 'fail', 'release', 'defer'] as const;

/** About an attempt that is over, or not handed out, or about a task that is not there. */
function staleReportOf(step: Step, task: TaskState): RunEvent {
  const report = { ...step, what: REPORTS[step.pick % REPORTS.length] ?? 'complete' };
  if (step.pick % 11 === 0) return reportOf(report, { ...task, taskId: 'gone' }, task.attempt);
  const offset = step.flag ? -1 : task.status === 'SCHEDULED' ? 1 : 0;
  // 0 would mean the attempt that is out.
  return reportOf(report, task, task.attempt + offset || task.attempt + 1);
}

function reportOf(step: Pick<Step, 'what' | 'pick' | 'flag'>, task: TaskState, attempt: number): RunEvent {
  const base = { taskId: task.taskId, nodeId: task.nodeId, attempt, reportHash: `${step.what} ${step.pick % 3}` };
  switch (step.what) {
    case 'fail': {
      const code = step.pick % 5 === 0 ? 'FATAL' : step.pick % 7 === 0 ? 'CANCELLED' : 'BROKEN';
      return { ...base, type: 'NodeFailed', failure: { code, message: code }, retryable: step.flag };
    }
    case 'release':
      return { ...base, type: 'TaskReleased', started: step.flag };
    case 'defer':
      return { ...base, type: 'TaskDeferred', delayMs: step.flag ? 0 : 3_000 };
    default:
      return { ...base, type: 'NodeCompleted', output: `{"n":${step.pick % 3}}` };
  }
}
