import { createEngine, type EngineApi, type LeasedTask, type TaskReport } from '@baton/engine';
import { engineOptions, MemoryStore } from '@baton/engine/testing';
import { templateCompiler } from '@baton/expressions';
import { defineSaga } from '../../definition/define-saga.js';
import type { Saga } from '../../definition/saga.js';
import type { Outputs, SagaOptions } from '../../definition/types.js';
import { StepExecutor, type RunningAttempt } from '../../executor/step-executor.js';
import type { Heartbeater } from '../../journal/ports.js';
import { reportOf } from '../../runtime/reports.js';
import { fakeClock, settle, type FakeClock } from '../../testing/fake-clock.js';
import { recordingLogger } from '../../testing/steps.js';

const LEASE_MS = 30_000;
const NAMESPACE = 'default';

/** One saga on the real engine over a store in memory, run by one process at a time, in a time that the test moves. */
export class SagaWorld {
  readonly clock: FakeClock = fakeClock();
  readonly logger = recordingLogger();
  /** false = the database does not answer heartbeats. */
  isHeard = true;
  private readonly store = new MemoryStore();
  private readonly engine: EngineApi;
  private readonly saga: Saga;
  private readonly executor: StepExecutor;
  private readonly running = new Set<RunningAttempt>();
  private runId = '';
  private calls = 0;

  constructor(options: SagaOptions<unknown, Outputs>) {
    this.saga = defineSaga<unknown, Outputs>(options) as Saga;
    const fromStart = this.store.nowMs - this.clock.now();
    const { store, clock } = this;
    Object.defineProperty(store, 'nowMs', { get: () => fromStart + clock.now() });
    store.definitions.set(`${NAMESPACE}/${this.saga.id}@${this.saga.version}`, this.saga.spec);
    store.deployed.set(`${NAMESPACE}/${this.saga.id}`, this.saga.version);
    this.engine = createEngine({ ...engineOptions(store, store.nowMs), templates: templateCompiler, route: 'local' });
    const times = { leaseDurationMs: LEASE_MS, heartbeatIntervalMs: LEASE_MS / 3 };
    this.executor = new StepExecutor({ heartbeater: this.heartbeater(), times, clock, logger: this.logger });
  }

  async start(): Promise<void> {
    const { id: definitionId } = this.saga;
    this.runId = (await this.engine.start({ namespace: NAMESPACE, definitionId, input: null })).runId;
    await this.work();
  }

  /** Moves time in steps; what becomes due is fired, what becomes claimable is run. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.clock.advance(Math.min(left, STEP_MS));
      await this.work();
    }
  }

  /** The process stops; the next one goes on at once. */
  async restart(): Promise<void> {
    for (const attempt of this.running) attempt.abort();
    await settle();
    await this.work();
  }

  /** In the words of the journal. */
  async status(): Promise<string> {
    return (await this.engine.getRun(NAMESPACE, this.runId, false)).run.status.toLowerCase();
  }

  async journal(): Promise<readonly string[]> {
    const entries = await this.engine.history(NAMESPACE, this.runId, 0, 1_000);
    return entries.map(({ kind, nodeId }) => (nodeId === null ? kind : `${kind} ${nodeId}`));
  }

  private async work(): Promise<void> {
    for (;;) {
      await this.fireDue();
      this.calls += 1;
      const { id, version, queue } = this.saga;
      const definitions = [{ id, version, queue }];
      const call = { namespace: NAMESPACE, definitions, owner: 'process', callId: `call-${this.calls}` };
      const claimed = await this.engine.claim({ ...call, ttlMs: LEASE_MS, limit: 10 });
      if (claimed.length === 0) return;
      for (const step of claimed) void this.drive(step);
      await settle();
    }
  }

  private async drive(step: LeasedTask): Promise<void> {
    const attempt = this.executor.begin(step, this.saga);
    this.running.add(attempt);
    const report = reportOf(step.kind, await attempt.result);
    this.running.delete(attempt);
    if (report !== null) await this.engine.report(taskReport(step, report));
  }

  private async fireDue(): Promise<void> {
    const { nowMs } = this.store;
    for (const [runId, tasks] of this.store.tasks) {
      for (const [taskId, row] of tasks) {
        if (row.wakeAt === null || row.wakeAt > nowMs) continue;
        const { attempt } = row.state;
        await this.engine.fireDue([{ kind: 'task', namespace: NAMESPACE, runId, taskId, attempt }]);
      }
    }
  }

  private heartbeater(): Heartbeater {
    const words = { OK: 'ok', LOST: 'lost', CANCELLED: 'cancelled', RETRY: 'retry' } as const;
    return {
      heartbeat: async ({ runId, taskId, attempt, leaseId }, ttlMs) => {
        if (!this.isHeard) throw new Error('the database is away');
        const call = { namespace: NAMESPACE, runId, taskId, attempt, leaseId, ttlMs };
        return words[(await this.engine.heartbeat(call)).status];
      },
    };
  }
}

const STEP_MS = 1_000;

function taskReport(step: LeasedTask, report: NonNullable<ReturnType<typeof reportOf>>): TaskReport {
  const { namespace, runId, taskId, nodeId, attempt, leaseId } = step;
  const base = { namespace, runId, taskId, nodeId, attempt, leaseId };
  switch (report.kind) {
    case 'step_completed':
    case 'step_compensated':
      return { ...base, status: 'completed', output: report.output ?? 'null' };
    case 'step_failed':
    case 'step_compensation_failed':
      return { ...base, status: 'failed', failure: report.failure, retryable: report.retryable };
    case 'step_deferred':
      return { ...base, status: 'deferred', retryAfterMs: report.delayMs };
    case 'step_released':
      return { ...base, status: 'released', notStarted: report.notStarted };
  }
}

/** User code that stops when it is told to, as an error of whatever it was doing. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error('connection reset'))),
  );
}
