import { SagaRegistry } from '../../definition/registry.js';
import { SagaError } from '../../journal/errors.js';
import type { GlobalEvent } from '../../journal/ports.js';
import type { SagaStore } from '../../storage/saga-store.js';
import { defaultSagaConfig } from '../config.js';
import { createSagaRuntime } from '../create-runtime.js';
import { LogBook, ObserverBook } from './runtime-fixture.js';
import type { ProcessOptions, SagaProcess, SagaWorld } from './saga-world.js';

export interface WorldParts {
  /** Each process has a store of its own, over the same rows. */
  readonly openStore: () => Promise<SagaStore>;
  readonly passes: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

const NAMESPACE = 'default';

/** Processes as `createSagaRuntime` puts them together, on any store. */
export async function openWorld(parts: WorldParts): Promise<SagaWorld> {
  const reader = await parts.openStore();
  const ends: (() => Promise<void>)[] = [];
  const endProcesses = async () => {
    await Promise.all(ends.splice(0).map((end) => end()));
  };
  return {
    endProcesses,
    async process(options) {
      const store = await parts.openStore();
      const { process, end } = await startProcess(store, options);
      ends.push(end);
      return process;
    },
    passes: parts.passes,
    events: (runId) => eventsOf(reader, runId),
    async close() {
      await endProcesses();
      await reader.close();
      await parts.close();
    },
  };
}

async function startProcess(store: SagaStore, options: ProcessOptions) {
  const { sagas, config, concurrency, leaderElect } = options;
  const log = new LogBook();
  const observer = new ObserverBook();
  const switched = killable(store);
  const runtime = await createSagaRuntime({
    store: switched.store,
    registry: new SagaRegistry(sagas),
    ...{ logger: log, observer },
    config: { ...defaultSagaConfig, pollIntervalMs: 50, ...config },
    ...(concurrency !== undefined && { concurrency }),
    ...(leaderElect !== undefined && { leaderElect }),
  });
  await runtime.start();
  const { client } = runtime;
  const process: SagaProcess = {
    ...{ log, observer, runtime },
    start: async (sagaId, input = null, more = {}) => (await client.start(sagaId, input, more)).runId,
    async cancel(runId) {
      await client.cancel(runId);
    },
    journal: (runId) => client.history(runId, { limit: 500 }),
    status: async (runId) => (await client.get(runId)).status,
    kill: switched.kill,
  };
  const end = async () => {
    await runtime.close(switched.isDead() ? 0 : 5_000).catch(() => undefined);
    await store.close();
  };
  return { process, end };
}

/** A store that can be taken away: from then on every statement of the process fails, as if it were not there any more. */
function killable(store: SagaStore) {
  let isDead = false;
  const guarded = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown =>
          isDead
            ? Promise.reject(new SagaError('unavailable', 'KILLED', 'the process was killed'))
            : Reflect.apply(member, target, args);
      },
    });
  return {
    store: { ...store, runs: guarded(store.runs), timers: guarded(store.timers), events: guarded(store.events) },
    kill: () => void (isDead = true),
    isDead: () => isDead,
  };
}

async function eventsOf(store: SagaStore, runId: string): Promise<readonly GlobalEvent[]> {
  const found: GlobalEvent[] = [];
  for (let cursor: string | null = null; ;) {
    const { events, next }: Awaited<ReturnType<typeof store.events.read>> = await store.events.read(
      NAMESPACE,
      cursor,
      500,
    );
    for (const { id, at, ...event } of events) {
      if (event.runId === runId) found.push({ ...event, eventId: id, createdAt: at });
    }
    if (events.length < 500) return found;
    cursor = next;
  }
}
