import { StoreError, type EngineApi } from '@baton/engine';
import { v7 } from 'uuid';
import { defineSaga } from '../../definition/define-saga.js';
import { SagaRegistry } from '../../definition/registry.js';
import type { Saga } from '../../definition/saga.js';
import type { Outputs, SagaOptions } from '../../definition/types.js';
import { sagaEventNames } from '../../events/event-names.js';
import { createJournal, type SagaJournal } from '../../journal/journal.js';
import type { ClaimedStep, StepReport } from '../../journal/ports.js';
import { statusOfRun } from '../../journal/kinds.js';
import { openSagaEngine } from '../../storage/open-engine.js';
import { openMemorySagaStore, type MemorySagaStore } from '../../testing/memory-store.js';

const NAMESPACE = 'default';
export const LEASE_MS = 30_000;
export const TAKE = { max: 1, leaseMs: LEASE_MS } as const;

/** One saga on the real engine, whose steps the test reports by hand. */
export interface JournalOf {
  readonly journal: SagaJournal;
  readonly engine: EngineApi;
  readonly store: MemorySagaStore;
  /** A run whose first step is leased. */
  begin(): Promise<ClaimedStep>;
  /** Reports, and answers the one step that follows; null = none. */
  report(step: ClaimedStep, report: StepReport): Promise<ClaimedStep | null>;
  /** Time passes, and what is due by it is handled. */
  passes(ms: number): Promise<void>;
  status(runId: string): Promise<string>;
  /** true: the database takes no write from here on. */
  refuseWrites(isRefused: boolean): void;
}

export async function journalOf(options: SagaOptions<unknown, Outputs>): Promise<JournalOf> {
  const saga = defineSaga<unknown, Outputs>(options) as Saga;
  const store = openMemorySagaStore();
  await store.definitions.publish(NAMESPACE, [saga]);
  let isRefused = false;
  const write = store.runs.write.bind(store.runs);
  store.runs.write = (batch) =>
    isRefused ? Promise.reject(new StoreError('unavailable', 'the database takes no writes')) : write(batch);
  const engine = openSagaEngine(store, { events: sagaEventNames() });
  const resolver = new SagaRegistry([saga]);
  const journal = createJournal({ store, engine, resolver, namespace: NAMESPACE, owner: 'process', newId: v7 });
  return {
    ...{ journal, engine, store },
    async begin() {
      const { claimed } = await journal.enqueue({ sagaId: saga.id, sagaVersion: saga.version, input: '{}' }, TAKE);
      const [step] = claimed;
      if (step === undefined) throw new Error('nothing was leased');
      return step;
    },
    report: async (step, report) => (await journal.append(step, report, TAKE)).claimed[0] ?? null,
    async passes(ms) {
      store.advance(ms);
      await engine.fireDue((await store.timers.readDue(100)).items);
    },
    async status(runId) {
      const { run, tasks } = await engine.getRun(NAMESPACE, runId, false);
      return statusOfRun(run.status, tasks);
    },
    refuseWrites: (refused) => void (isRefused = refused),
  };
}

export const completed: StepReport = { kind: 'step_completed', output: '{}' };
export const undone: StepReport = { kind: 'step_compensated' };
export const failedWith = (code: string, retryable: boolean): StepReport => ({
  kind: 'step_failed',
  failure: { code, message: 'it did not work' },
  retryable,
});

export function step(claimed: ClaimedStep | null): ClaimedStep {
  if (claimed === null) throw new Error('no step follows');
  return claimed;
}
