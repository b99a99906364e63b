import { v7 } from 'uuid';
import type { EngineApi } from '@baton/engine';
import { eventually } from '@baton/testkit';
import { SagaRegistry } from '../definition/registry.js';
import { createJournal, type SagaJournal } from '../journal/journal.js';
import { statusOfRun } from '../journal/kinds.js';
import type { ClaimedStep, GlobalEvent, NewInstance, StepLease, StepReport } from '../journal/ports.js';
import type { SagaStore } from '../storage/saga-store.js';
import { suiteSagas } from './journal-sagas.js';

/** One database, fresh and empty, whose clock stands still but for `advance`. */
export interface StoreUnderTest {
  readonly store: SagaStore;
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type MakeStore = () => Promise<StoreUnderTest>;

/** What one test works on: a namespace of its own in the database under test. */
export interface JournalWorld {
  readonly journal: SagaJournal;
  /** Another process over the same database. */
  readonly other: SagaJournal;
  readonly store: SagaStore;
  readonly engine: EngineApi;
  readonly namespace: string;
  advance(ms: number): Promise<void>;
  /** The due loop of the runtime, once: lost leases, deadlines, backoffs. Answers how many rows it handled. */
  fireDue(): Promise<number>;
  status(runId: string): Promise<string>;
  /** A run of the saga, of which nothing is leased. */
  enqueue(sagaId: string, more?: Partial<NewInstance>): Promise<string>;
  /** A run whose first step is leased by `journal`. */
  begin(sagaId: string): Promise<ClaimedStep>;
}

export const LEASE_MS = 30_000;
export const TAKE = { max: 1, leaseMs: LEASE_MS } as const;
export const ONE = { limit: 1, leaseMs: LEASE_MS } as const;
export const UNKNOWN_RUN = '01900000-0000-7000-8000-000000000000';

export function newInstance(sagaId: string): NewInstance {
  return { sagaId, sagaVersion: 1, input: '{"n":1}' };
}

export const done = (output = '{"ok":true}'): StepReport => ({ kind: 'step_completed', output });
export const broken: StepReport = {
  kind: 'step_failed',
  failure: { code: 'NO', message: 'it did not work' },
  retryable: false,
};
export const undone: StepReport = { kind: 'step_compensated' };

export function only<T>(list: readonly T[]): T {
  const [first] = list;
  if (first === undefined || list.length !== 1) throw new Error(`there are ${list.length}, not one`);
  return first;
}

/** The first events, once there are so many to read: transactions of other tests on the same server hold readers up. */
export function eventsOf(journal: SagaJournal, count: number): Promise<readonly GlobalEvent[]> {
  const read = async () => {
    const events = await journal.loadSince(null, 100);
    return events.length >= count ? events : undefined;
  };
  return eventually(read, { what: `${count} events` });
}

/** The lease of a step under another id. */
export function withLease(step: StepLease, leaseId = v7()): StepLease {
  const { runId, taskId, nodeId, attempt } = step;
  return { runId, taskId, nodeId, attempt, leaseId };
}

/** Ends of runs and steps alone, as the contract has them. */
export async function storyOf(journal: SagaJournal, runId: string): Promise<readonly string[]> {
  const events = await journal.load(runId);
  return events
    .filter(({ kind }) => /^(step_|compensation_started|saga_)/.test(kind))
    .map(({ kind, step }) => (step === null ? kind : `${kind} ${step}`));
}

export interface WorldParts {
  readonly under: StoreUnderTest;
  readonly engine: EngineApi;
  readonly otherEngine: EngineApi;
  readonly namespace: string;
}

export async function openWorld({ under, engine, otherEngine, namespace }: WorldParts): Promise<JournalWorld> {
  const { store } = under;
  await store.definitions.publish(namespace, suiteSagas);
  const open = (api: EngineApi, owner: string) =>
    createJournal({ store, engine: api, resolver: new SagaRegistry(suiteSagas), namespace, owner, newId: v7 });
  const journal = open(engine, 'first');
  const world: JournalWorld = {
    ...{ journal, store, engine, namespace },
    other: open(otherEngine, 'second'),
    advance: (ms) => under.advance(ms),
    async fireDue() {
      const { items } = await store.timers.readDue(1_000);
      const ours = items.filter((item) => item.namespace === namespace);
      await otherEngine.fireDue(ours);
      return ours.length;
    },
    async status(runId) {
      const { run, tasks } = await engine.getRun(namespace, runId, false);
      return statusOfRun(run.status, tasks);
    },
    async enqueue(sagaId, more = {}) {
      return (await journal.enqueue({ ...newInstance(sagaId), ...more })).runId;
    },
    async begin(sagaId) {
      const { claimed } = await journal.enqueue(newInstance(sagaId), { max: 1, leaseMs: LEASE_MS });
      return only(claimed);
    },
  };
  return world;
}
