import type { Dag } from '../definition/model.js';
import type { Action } from '../run/actions.js';
import { check } from '../run/check.js';
import { decide } from '../run/decide.js';
import type { Decision, Loaded } from '../run/decide-types.js';
import type { RunEvent } from '../run/events.js';
import { evolve } from '../run/evolve.js';
import { newRun } from '../run/new-run.js';
import type { JsonText, RunState, TaskKind, TaskState } from '../run/state.js';
import { same } from './same.js';
import { FakeStore, type TimerEntry } from './fake-store.js';

/**
 * One run in memory: real decisions over a fake store. Each event is checked for what always holds: the state is
 * evolve(state, actions), the same decision comes out twice (I3), whatever the order of the rows in the state, and no
 * invariant is broken.
 */
export class FakeRun {
  readonly store = new FakeStore();
  state: RunState;
  dag: Dag;
  last: Decision | undefined;
  /** All actions that were applied, in order. */
  readonly applied: Action[] = [];
  private ids = 0;

  constructor(dag: Dag, input: JsonText | null = null) {
    this.dag = dag;
    this.store.runInput = input;
    this.state = newRun({
      runId: 'run-1',
      namespace: 'default',
      definitionId: dag.definitionId,
      definitionVersion: dag.version,
      route: 'kafka',
    });
  }

  /** Applies one event as the engine does: decide, load what is needed, decide again, apply. */
  handle(event: RunEvent, dag: Dag = this.dag): Exclude<Decision, { kind: 'needs' }> {
    const decision = this.decide(event, dag);
    this.last = decision;
    if (decision.kind === 'refused') return decision;
    this.store.apply(decision.actions);
    if (decision.kind === 'applied') {
      mustBeSame(evolve(this.state, decision.actions), decision.state);
      this.state = { ...decision.state, version: this.state.version + 1 };
      this.dag = dag;
      this.applied.push(...decision.actions);
      mustBeSame(check(this.state, this.dag), []);
    } else {
      mustBeSame(decision.state === this.state, true);
      mustBeSame(
        decision.actions.filter((action) => !ALLOWED_WHEN_IGNORED.has(action.type)),
        [],
      );
    }
    return decision;
  }

  private decide(event: RunEvent, dag: Dag): Exclude<Decision, { kind: 'needs' }> {
    const before = this.ids;
    const first = this.decideOnce(event, dag, this.state);
    const used = this.ids;
    this.ids = before;
    // A state that was read has its rows in another order than one that grew: nothing may depend on it.
    const turned = { ...this.state, tasks: new Map([...this.state.tasks].reverse()) };
    const second = this.decideOnce(event, dag, turned);
    mustBeSame(second, first);
    this.ids = used;
    return first;
  }

  private decideOnce(event: RunEvent, dag: Dag, state: RunState): Exclude<Decision, { kind: 'needs' }> {
    let loaded: Loaded = {};
    for (let round = 0; round < 10; round += 1) {
      const decision = decide(dag, state, event, { newId: () => this.newId(), random: () => 0.5, loaded });
      if (decision.kind !== 'needs') return decision;
      loaded = this.store.answer(decision.needs, loaded);
    }
    throw new Error(`needs without an end: ${event.type}`);
  }

  private newId(): string {
    this.ids += 1;
    return `id-${String(this.ids).padStart(5, '0')}`;
  }

  start(startNodeId?: string): this {
    this.handle(startNodeId === undefined ? { type: 'RunStarted' } : { type: 'RunStarted', startNodeId });
    return this;
  }

  /** The newest row of a node. */
  task(nodeId: string, kind: TaskKind = 'forward'): TaskState {
    const rows = [...this.state.tasks.values()]
      .filter((row) => row.nodeId === nodeId && row.kind === kind)
      .sort((a, b) => b.generation - a.generation);
    if (rows[0] === undefined) throw new Error(`${nodeId} has no ${kind} row`);
    return rows[0];
  }

  has(nodeId: string, kind: TaskKind = 'forward'): boolean {
    return [...this.state.tasks.values()].some((row) => row.nodeId === nodeId && row.kind === kind);
  }

  status(nodeId: string, kind: TaskKind = 'forward'): string {
    return this.has(nodeId, kind) ? this.task(nodeId, kind).status : 'ABSENT';
  }

  lease(nodeId: string, kind: TaskKind = 'forward'): this {
    this.store.lease(this.task(nodeId, kind).taskId);
    return this;
  }

  /** A worker's success for the current attempt, or for the one given. */
  complete(nodeId: string, output: JsonText = '{}', report: ReportOptions = {}) {
    const row = this.task(nodeId, report.kind);
    return this.handle({
      type: 'NodeCompleted',
      taskId: row.taskId,
      nodeId,
      attempt: report.attempt ?? row.attempt,
      output,
      reportHash: report.hash ?? `completed ${output}`,
    });
  }

  fail(nodeId: string, code = 'BROKEN', report: ReportOptions & { retryable?: boolean } = {}) {
    const row = this.task(nodeId, report.kind);
    return this.handle({
      type: 'NodeFailed',
      taskId: row.taskId,
      nodeId,
      attempt: report.attempt ?? row.attempt,
      failure: { code, message: `${code} happened` },
      retryable: report.retryable ?? false,
      reportHash: report.hash ?? `failed ${code}`,
    });
  }

  release(nodeId: string, started: boolean, kind: TaskKind = 'forward') {
    const { taskId, attempt } = this.task(nodeId, kind);
    return this.handle({ type: 'TaskReleased', taskId, nodeId, attempt, started, reportHash: 'released' });
  }

  defer(nodeId: string, delayMs: number, kind: TaskKind = 'forward') {
    const { taskId, attempt } = this.task(nodeId, kind);
    return this.handle({ type: 'TaskDeferred', taskId, nodeId, attempt, delayMs, reportHash: 'deferred' });
  }

  wake(nodeId: string, kind: TaskKind = 'forward') {
    const { taskId, attempt } = this.task(nodeId, kind);
    return this.handle({ type: 'TaskWoken', taskId, attempt });
  }

  /** Moves the clock and wakes the task. */
  wakeAfter(ms: number, nodeId: string, kind: TaskKind = 'forward') {
    this.store.now += ms;
    return this.wake(nodeId, kind);
  }

  signal(name: string, payload: JsonText = '{}', signalId = `${name} ${payload}`, expiresInMs?: number) {
    const base = { type: 'SignalReceived', signalId, name, payload, payloadHash: payload } as const;
    return this.handle(expiresInMs === undefined ? base : { ...base, expiresInMs });
  }

  timer(kind: TimerEntry['kind']): TimerEntry {
    const found = [...this.store.timers.values()].find((timer) => timer.kind === kind);
    if (found === undefined) throw new Error(`there is no timer ${kind}`);
    return found;
  }

  /** Moves the clock to the timer and fires it. */
  fire(kind: TimerEntry['kind']) {
    const timer = this.timer(kind);
    this.store.now = Math.max(this.store.now, timer.dueAt);
    return this.handle({ type: 'TimerFired', timerId: timer.timerId });
  }

  cancel(reason = 'not wanted any more') {
    return this.handle({ type: 'RunCancelled', commandId: 'cancel', reason });
  }

  retry(options: { fromNodeId?: string; input?: JsonText; dag?: Dag } = {}) {
    const { dag = this.dag, ...rest } = options;
    return this.handle({ type: 'RunRetried', commandId: 'retry', ...rest }, dag);
  }

  retryCompensation() {
    return this.handle({ type: 'CompensateRun', commandId: 'retry-compensation', scope: 'failed-undos' });
  }

  /** Nodes of the undos that were dispatched, in order. */
  undoOrder(): string[] {
    return this.store.dispatches.filter((sent) => sent.kind === 'compensate').map((sent) => sent.nodeId);
  }

  inputOf(nodeId: string, kind: TaskKind = 'forward'): JsonText | null | undefined {
    return this.store.tasks.get(this.task(nodeId, kind).taskId)?.input;
  }

  outputOf(nodeId: string, kind: TaskKind = 'forward'): JsonText | null | undefined {
    return this.store.tasks.get(this.task(nodeId, kind).taskId)?.output;
  }

  journalKinds(): string[] {
    return this.store.journal.map((row) => row.kind);
  }
}

export interface ReportOptions {
  readonly kind?: TaskKind;
  readonly attempt?: number;
  readonly hash?: string;
}

/** R21, R12: a stale event may consume its timer or arm its wake-up, and nothing else. */
const ALLOWED_WHEN_IGNORED: ReadonlySet<Action['type']> = new Set(['ClearTimers', 'WakeTask']);

function mustBeSame(actual: unknown, expected: unknown): void {
  if (!same(actual, expected)) expect(actual).toEqual(expected); // for its message
}
