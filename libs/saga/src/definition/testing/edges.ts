import { decide, type RunStatus } from '@baton/core';
import { createEngine, type Decide, type EngineApi, type LeasedTask } from '@baton/engine';
import { templateCompiler } from '@baton/expressions';
import { createHash } from 'node:crypto';
import { v7 as newId } from 'uuid';
import { statusOfRun } from '../../journal/kinds.js';
import { openMemorySagaStore, type MemorySagaStore } from '../../testing/memory-store.js';
import type { Saga } from '../saga.js';

/** `from > to`, in the words of the contract. */
export type Edge = `${string} > ${string}`;

/** One run, moved by hand, with every edge that `decide` has let it take. */
export class WatchedRun {
  readonly edges = new Set<Edge>();
  /** Decisions that changed a run which had ended. */
  readonly afterEnd: string[] = [];
  readonly store: MemorySagaStore = openMemorySagaStore();
  /** Of the process; nothing may depend on it. */
  wallMs = Date.UTC(2026, 0, 1);
  runId = '';
  private readonly engine: EngineApi;
  private held: readonly LeasedTask[] = [];

  constructor(private readonly saga: Saga) {
    const watched: Decide = (dag, run, event, env) => {
      const decision = decide(dag, run, event, env);
      if (decision.kind !== 'applied') return decision;
      this.see(run.status, decision.state.status, event.type);
      return decision;
    };
    this.engine = createEngine({
      store: this.store.runs,
      templates: templateCompiler,
      schemas: { validate: () => [] },
      newId: () => newId(),
      hash: (text) => createHash('sha256').update(text).digest('hex'),
      random: () => 0.5,
      now: () => this.wallMs,
      route: 'local',
      transactions: 'single-statement',
      decide: watched,
    });
  }

  async start(): Promise<void> {
    const { id, version, spec } = this.saga;
    await this.store.definitions.publish('default', [{ id, version, spec }]);
    const start = { namespace: 'default', definitionId: id, definitionVersion: version, input: null };
    this.runId = (await this.engine.start(start)).runId;
  }

  /** Takes every step that waits. */
  async claim(): Promise<readonly LeasedTask[]> {
    const { id, version, queue } = this.saga;
    const call = { namespace: 'default', owner: 'test', callId: newId(), ttlMs: 10_000, limit: 10 };
    const claimed = await this.engine.claim({ ...call, definitions: [{ id, version, queue }] });
    this.held = [...this.held, ...claimed];
    return claimed;
  }

  /** Reports the step that was taken first; undefined = none is held. */
  async report(how: 'completed' | 'failed', retryable = false): Promise<string | undefined> {
    const [task, ...rest] = this.held;
    if (task === undefined) return undefined;
    this.held = rest;
    return this.reportOf(task, how, retryable);
  }

  async reportOf(task: LeasedTask, how: 'completed' | 'failed', retryable = false): Promise<string> {
    const { runId, taskId, nodeId, attempt, leaseId } = task;
    const failure = { code: 'NO', message: 'no' };
    const what = how === 'completed' ? { output: 'null' } : { failure, retryable };
    const base = { namespace: 'default', runId, taskId, nodeId, attempt, leaseId };
    return this.engine.report({ ...base, status: how, ...what });
  }

  async step(how: 'completed' | 'failed'): Promise<void> {
    await this.claim();
    await this.report(how);
  }

  async cancel(): Promise<void> {
    await this.engine
      .cancel({ namespace: 'default', runId: this.runId, requestId: newId(), reason: '' })
      .catch(() => undefined);
  }

  /** The time of the database goes on, and what is due is fired. */
  async passes(ms: number): Promise<void> {
    this.store.advance(ms);
    const { items } = await this.store.timers.readDue(100);
    await this.engine.fireDue(items);
  }

  async view() {
    return this.engine.getRun('default', this.runId, false);
  }

  async history() {
    return this.engine.history('default', this.runId, 0, 1_000);
  }

  private see(from: RunStatus, to: RunStatus, event: string): void {
    const isOver = !['RUNNING', 'COMPENSATING'].includes(from);
    if (isOver) this.afterEnd.push(`${event} of a run that is ${from}`);
    if (from !== to) this.edges.add(`${statusOfRun(from)} > ${statusOfRun(to)}`);
  }
}
