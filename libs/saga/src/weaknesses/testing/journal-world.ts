import type { EngineApi } from '@baton/engine';
import { defineSaga } from '../../definition/define-saga.js';
import { SagaRegistry } from '../../definition/registry.js';
import type { Saga } from '../../definition/saga.js';
import type { Outputs, SagaOptions } from '../../definition/types.js';
import { sagaEventNames } from '../../events/event-names.js';
import { StepExecutor, type RunningAttempt } from '../../executor/step-executor.js';
import { systemNewId } from '../../executor/system-clock.js';
import { SagaError } from '../../journal/errors.js';
import { createJournal, type SagaJournal } from '../../journal/journal.js';
import type { ClaimedStep, Heartbeater } from '../../journal/ports.js';
import { reportOf } from '../../runtime/reports.js';
import { openSagaEngine } from '../../storage/open-engine.js';
import { fakeClock, settle, type FakeClock } from '../../testing/fake-clock.js';
import { openMemorySagaStore, type MemorySagaStore } from '../../testing/memory-store.js';
import { recordingLogger } from '../../testing/steps.js';

const LEASE_MS = 30_000;
const STEP_MS = 1_000;
const NAMESPACE = 'default';

/**
 * One saga on the real engine and journal over a store in memory, run by one process after the other, in a time that the
 * test moves: of the processes and of the database alike.
 */
export class JournalWorld {
  readonly clock: FakeClock = fakeClock();
  /** false = the database does not answer heartbeats. */
  isHeard = true;
  private readonly saga: Saga;
  private readonly store: MemorySagaStore;
  private readonly engine: EngineApi;
  private readonly journalPorts: SagaJournal;
  private readonly executor: StepExecutor;
  private readonly running = new Set<RunningAttempt>();
  private runId = '';

  constructor(options: SagaOptions<unknown, Outputs>) {
    const { clock } = this;
    this.saga = defineSaga<unknown, Outputs>(options) as Saga;
    const resolver = new SagaRegistry([this.saga]);
    const store = openMemorySagaStore({ elapsed: () => clock.now() });
    this.store = store;
    this.engine = openSagaEngine(store, { events: sagaEventNames(), random: () => 0.5 });
    const ids = { namespace: NAMESPACE, owner: 'process', newId: systemNewId };
    this.journalPorts = createJournal({ store, engine: this.engine, resolver, ...ids });
    const times = { leaseDurationMs: LEASE_MS, heartbeatIntervalMs: LEASE_MS / 3 };
    this.executor = new StepExecutor({ heartbeater: this.heartbeater(), times, clock, logger: recordingLogger() });
  }

  async start(): Promise<void> {
    await this.store.definitions.publish(NAMESPACE, [this.saga]);
    const { id: sagaId, version: sagaVersion } = this.saga;
    this.runId = (await this.journalPorts.enqueue({ sagaId, sagaVersion, input: null })).runId;
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
    const events = await this.journalPorts.load(this.runId);
    return events.map(({ kind, step }) => (step === null ? kind : `${kind} ${step}`));
  }

  private async work(): Promise<void> {
    for (;;) {
      await this.engine.fireDue((await this.store.timers.readDue(100)).items);
      const claimed = await this.journalPorts.claimPending({ limit: 10, leaseMs: LEASE_MS });
      if (claimed.length === 0) return;
      for (const step of claimed) void this.drive(step);
      await settle();
    }
  }

  private async drive(step: ClaimedStep): Promise<void> {
    const attempt = this.executor.begin(step, this.saga);
    this.running.add(attempt);
    const report = reportOf(step.kind, await attempt.result);
    this.running.delete(attempt);
    if (report === null) return;
    try {
      await this.journalPorts.append(step, report);
    } catch (error) {
      // The engine has ended the attempt by itself: whoever has the step now reports what it sees.
      if (!(error instanceof SagaError && error.code === 'STALE_LEASE')) throw error;
    }
  }

  private heartbeater(): Heartbeater {
    return {
      heartbeat: (lease, leaseMs) =>
        this.isHeard ? this.journalPorts.heartbeat(lease, leaseMs) : Promise.reject(new Error('the database is away')),
    };
  }
}

/** User code that stops when it is told to, as an error of whatever it was doing. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('connection reset')));
  });
}
