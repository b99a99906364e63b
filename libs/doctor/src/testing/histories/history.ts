import { isTerminal, type RunStatus } from '@baton/core';
import type { StartRun, TaskReport } from '@baton/engine';
import type { Call } from './calls.js';
import { NAMESPACE } from './history-database.js';
import type { Random } from './random.js';
import type { RunView, TaskView } from './view.js';

/** A report that is no JSON: the engine fails the attempt for good (R8). */
export const UNREADABLE = '{"unreadable';

const LATE_CALLS = 4;

/** What happens to one run: some calls at random, then what it takes to end it. */
export class History {
  runId: string | undefined;
  private readonly reports: TaskReport[] = [];
  private readonly commands: Call[] = [];
  private signals = 0;
  private count = 0;
  private calls = 0;
  private lateCalls = 0;
  /** Tasks that this round has something for already: others come first. */
  private readonly taken = new Set<string>();
  private starting = 0;

  constructor(
    readonly start: StartRun,
    private readonly nodes: readonly string[],
    private readonly random: Random,
    /** Calls at random; after so many more that bring it to its end, it is left as it is. */
    private readonly budget: { readonly random: number; readonly closing: number },
  ) {}

  isOver(view: RunView | undefined): boolean {
    const ended = view !== undefined && isTerminal(view.status as RunStatus);
    // What nothing can reopen (B85) hears a few more calls.
    const isFinal = view?.status === 'SUCCEEDED' || view?.status === 'COMPENSATED';
    if (isFinal && this.lateCalls >= LATE_CALLS) return true;
    if (this.calls < this.budget.random) return false;
    return ended || this.calls >= this.budget.random + this.budget.closing;
  }

  newRound(): void {
    this.taken.clear();
    this.starting = 0;
  }

  /** One call, or none where nothing can be done now. */
  next(view: RunView | undefined): Call | undefined {
    if (view === undefined) return this.first();
    this.calls += 1;
    if (isTerminal(view.status as RunStatus)) this.lateCalls += 1;
    const call = this.calls > this.budget.random ? this.closing(view) : this.any(view);
    if (call?.kind === 'report') this.reports.push(call.report);
    if (call?.kind === 'cancel' || call?.kind === 'retry' || call?.kind === 'retry-compensation') {
      this.commands.push(call);
    }
    return call;
  }

  /** Sent twice at once only where the second is the same start. */
  private first(): Call | undefined {
    this.starting += 1;
    const isSame = this.start.runId !== undefined || this.start.idempotencyKey !== undefined;
    if (this.starting > (isSame ? 2 : 1)) return undefined;
    if (this.starting === 1) this.calls += 1;
    return { kind: 'start', start: this.start };
  }

  private any(view: RunView): Call | undefined {
    const { random } = this;
    const ended = isTerminal(view.status as RunStatus);
    return random.weighted<() => Call | undefined>([
      [8, () => this.acquire(view)],
      [10, () => this.report(view)],
      [4, () => this.heartbeat(view)],
      [2, () => this.staleReport(view)],
      [2, () => this.again()],
      [3, () => this.signal(view.runId)],
      [3, () => this.wake(view, random.chance(0.7))],
      [2, () => this.timer(view)],
      [ended ? 0.5 : 0.7, () => this.cancel(view.runId)],
      [ended ? 8 : 0.3, () => this.retry(view.runId)],
      [view.status === 'COMPENSATION_FAILED' ? 12 : 0.2, () => this.retryCompensation(view.runId)],
      [0.5, () => random.pick(this.commands)],
      [0.3, () => this.startAgain()],
    ])();
  }

  /** Workers do their work, signals come, timers fire. */
  private closing(view: RunView): Call | undefined {
    if (isTerminal(view.status as RunStatus)) return undefined;
    return this.random.weighted<() => Call | undefined>([
      [3, () => this.acquire(view)],
      [8, () => this.report(view)],
      [2, () => this.signal(view.runId)],
      [3, () => this.wake(view, true) ?? this.timer(view)],
    ])();
  }

  private startAgain(): Call | undefined {
    const { start } = this;
    if (start.runId === undefined && start.idempotencyKey === undefined) return undefined;
    return { kind: 'start', start: this.random.chance(0.2) ? { ...start, input: '"other"' } : start };
  }

  /** A task that is out; seldom one that this round has something for. */
  private out(view: RunView): TaskView | undefined {
    const rows = view.tasks.filter((task) => task.status === 'SCHEDULED');
    const free = rows.filter((task) => !this.taken.has(task.taskId));
    const task = this.random.pick(free) ?? (this.random.chance(0.15) ? this.random.pick(rows) : undefined);
    if (task !== undefined) this.taken.add(task.taskId);
    return task;
  }

  private acquire(view: RunView): Call | undefined {
    const { random } = this;
    const free = view.tasks.filter(({ status, leaseId }) => status === 'SCHEDULED' && leaseId === null);
    const task = random.pick(free) ?? (random.chance(0.3) ? random.pick(view.tasks) : undefined);
    if (task === undefined) return undefined;
    const attempt = random.weighted([
      [8, task.attempt],
      [2, undefined],
      [0.5, task.attempt + 1],
      [0.5, Math.max(0, task.attempt - 1)],
    ]);
    const callId = `${view.runId} ${this.nextCount()}`;
    const ttlMs = random.weighted([
      [3, 0],
      [1, 2_000],
      [1, 60_000],
    ]);
    const base = { namespace: NAMESPACE, runId: view.runId, taskId: task.taskId, owner: 'worker', callId, ttlMs };
    return { kind: 'acquire', acquire: { ...base, wantInput: true, ...(attempt === undefined ? {} : { attempt }) } };
  }

  private heartbeat(view: RunView): Call | undefined {
    const task = this.random.pick(view.tasks.filter((row) => row.leaseId !== null));
    if (task?.leaseId == null) return undefined;
    const { taskId, attempt, leaseId } = task;
    // Each has a progress of its own: by it the log of the database names the call.
    const progress = `"${view.runId} ${this.nextCount()}"`;
    const ttlMs = this.random.pick([0, 1_000, 4_000]) ?? 0;
    return {
      kind: 'heartbeat',
      heartbeat: { namespace: NAMESPACE, runId: view.runId, taskId, attempt, leaseId, ttlMs, progress },
    };
  }

  private report(view: RunView): Call | undefined {
    const task = this.out(view);
    return task === undefined ? undefined : { kind: 'report', report: this.reportOf(view.runId, task, task.attempt) };
  }

  /** About any row, with any attempt. */
  private staleReport(view: RunView): Call | undefined {
    const task = this.random.pick(view.tasks);
    if (task === undefined) return undefined;
    const attempt = Math.max(0, task.attempt + this.random.between(-1, 1));
    return { kind: 'report', report: this.reportOf(view.runId, task, attempt) };
  }

  private reportOf(runId: string, task: TaskView, attempt: number): TaskReport {
    const { random } = this;
    const lease = random.weighted([
      [8, task.leaseId],
      [3, null],
      [0.3, '00000000-0000-4000-8000-000000000000'],
    ]);
    const base = {
      namespace: NAMESPACE,
      runId,
      taskId: task.taskId,
      nodeId: task.nodeId,
      // Legacy workers send none (0): the attempt that is out.
      attempt: random.chance(0.03) ? 0 : attempt,
      ...(lease === null ? {} : { leaseId: lease }),
    };
    return random.weighted<() => TaskReport>([
      [8, () => ({ ...base, status: 'completed', output: `{"n":${this.nextCount()}, "x":[ ]}` })],
      [0.2, () => ({ ...base, status: 'completed', output: UNREADABLE })],
      [4, () => ({ ...base, status: 'failed', failure: this.failure(), retryable: random.chance(0.6) })],
      [1, () => ({ ...base, status: 'released', notStarted: random.chance(0.5) })],
      [1, () => ({ ...base, status: 'deferred', retryAfterMs: random.pick([0, 3_000]) ?? 0 })],
    ])();
  }

  private failure(): { readonly code: string; readonly message: string } {
    const code = this.random.weighted([
      [6, 'BROKEN'],
      [1, 'FATAL'],
      [1, 'CANCELLED'],
    ]);
    return { code, message: `failure ${this.nextCount()}` };
  }

  private again(): Call | undefined {
    const report = this.random.pick(this.reports.slice(-6));
    if (report === undefined) return undefined;
    // The same content, or other content for the same attempt.
    const changed = this.random.chance(0.3) && report.status === 'completed';
    return { kind: 'report', report: changed ? { ...report, output: '"other"' } : report };
  }

  private signal(runId: string): Call {
    const { random } = this;
    const fresh = this.signals === 0 || random.chance(0.75);
    if (fresh) this.signals += 1;
    const n = fresh ? this.signals : random.between(1, this.signals);
    const expires = n % 4 === 0 ? { expiresInMs: 5_000 } : {};
    const payload = random.chance(0.05) ? '"other"' : `{"n":${n}}`;
    const name = n % 3 === 0 ? 'stop' : 'go';
    return {
      kind: 'signal',
      signal: { namespace: NAMESPACE, runId, name, payload, signalId: `${runId} s${n}`, ...expires },
    };
  }

  /** Due ones, or early ones. */
  private wake(view: RunView, due: boolean): Call | undefined {
    const rows = view.tasks.filter((task) => task.wakes && task.due === due);
    const task = this.random.pick(rows) ?? (this.random.chance(0.05) ? this.random.pick(view.tasks) : undefined);
    if (task === undefined) return undefined;
    const { taskId, attempt } = task;
    return { kind: 'fire', item: { kind: 'task', namespace: NAMESPACE, runId: view.runId, taskId, attempt } };
  }

  private timer(view: RunView): Call | undefined {
    const due = view.timers.filter((timer) => timer.due);
    const timer = this.random.pick(due.length > 0 ? due : view.timers);
    if (timer === undefined && !this.random.chance(0.05)) return undefined;
    const timerId = timer?.timerId ?? '00000000-0000-4000-8000-000000000000'; // gone long ago
    return { kind: 'fire', item: { kind: 'timer', namespace: NAMESPACE, runId: view.runId, timerId } };
  }

  private cancel(runId: string): Call {
    const requestId = `${runId} cancel ${this.nextCount()}`;
    return { kind: 'cancel', cancel: { namespace: NAMESPACE, runId, requestId, reason: 'a person asked' } };
  }

  private retry(runId: string): Call {
    const { random } = this;
    const fromNodeId = random.chance(0.4) ? random.pick(this.nodes) : undefined;
    const definitionVersion = random.weighted<2 | 'deployed' | undefined>([
      [6, undefined],
      [1, 'deployed'],
      [1, 2],
    ]);
    return {
      kind: 'retry',
      retry: {
        namespace: NAMESPACE,
        runId,
        requestId: `${runId} retry ${this.nextCount()}`,
        ...(fromNodeId === undefined ? {} : { fromNodeId }),
        ...(definitionVersion === undefined ? {} : { definitionVersion }),
        ...(random.chance(0.2) ? { input: `{"retry":${this.count}}` } : {}),
      },
    };
  }

  private retryCompensation(runId: string): Call {
    const requestId = `${runId} undo ${this.nextCount()}`;
    return { kind: 'retry-compensation', retryCompensation: { namespace: NAMESPACE, runId, requestId } };
  }

  private nextCount(): number {
    this.count += 1;
    return this.count;
  }
}
