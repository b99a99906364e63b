import type { Dag } from '../definition/model.js';
import type { RunEvent } from '../run/events.js';
import { isTerminal } from '../run/status.js';
import type { TaskState } from '../run/state.js';
import type { Step } from './arbitraries.js';
import type { FakeRun } from './fake-run.js';

/** What happens around a run: workers, clocks, people. Each step does what is possible at that moment, or nothing. */
export class World {
  private reports: RunEvent[] = [];
  private signals = 0;

  /** The version that some retries move the run to. */
  nextDag: Dag | undefined;

  constructor(
    readonly run: FakeRun,
    private readonly seen: (event: RunEvent) => void = () => undefined,
  ) {}

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
        if (task !== undefined)
          this.handle(reportOf({ ...step, what: 'complete' }, task, task.attempt + (step.flag ? -1 : 1)));
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
        this.signal(step.flag ? 'go' : 'stop', step.pick % 4 === 0);
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

  signal(name: string, again = false): void {
    if (!again) this.signals += 1;
    const payload = `{"n":${this.signals}}`;
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
    this.seen(event);
    this.run.handle(event, dag);
  }

  private choose(step: Step, fits: (task: TaskState) => boolean): TaskState | undefined {
    const tasks = [...this.run.state.tasks.values()].filter(fits);
    return tasks[step.pick % Math.max(1, tasks.length)];
  }
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
