import type { EventNames } from '@baton/engine';
import { SagaRegistry } from '../../definition/registry.js';
import { systemNewId } from '../../executor/system-clock.js';
import { SagaError } from '../../journal/errors.js';
import { statusOfRun } from '../../journal/kinds.js';
import type { GlobalEvent } from '../../journal/ports.js';
import type { SagaStore } from '../../storage/saga-store.js';
import { defaultSagaConfig } from '../config.js';
import { embed } from '../embedded-parts.js';
import { EmbeddedRuntime } from '../saga-runtime.js';
import { LogBook, ObserverBook } from './runtime-fixture.js';
import type { ProcessOptions, SagaProcess, SagaWorld } from './saga-world.js';

export interface WorldParts {
  readonly events: EventNames;
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
      const { process, end } = await startProcess(store, parts.events, options);
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

async function startProcess(store: SagaStore, events: EventNames, options: ProcessOptions) {
  const { sagas, config, concurrency, leaderElect } = options;
  const log = new LogBook();
  const observer = new ObserverBook();
  const registry = new SagaRegistry(sagas);
  const switched = killable(store);
  const { core, engine, journal } = embed({
    store: switched.store,
    ...{ registry, events, logger: log, observer },
    config: { ...defaultSagaConfig, pollIntervalMs: 50, ...config },
    ...(concurrency !== undefined && { concurrency }),
    ...(leaderElect !== undefined && { leaderElect }),
  });
  await core.start();
  const process: SagaProcess = {
    ...{ log, observer, runtime: new EmbeddedRuntime(core, null, () => Promise.resolve()) },
    async start(sagaId, input = null) {
      const slot = core.reserve();
      const instance = { sagaId, sagaVersion: registry.resolve(sagaId)?.version ?? 1, input: JSON.stringify(input) };
      const { runId, claimed } = await journal.enqueue(instance, slot?.take);
      slot?.settle(claimed);
      if (slot === null) core.kick();
      return runId;
    },
    async cancel(runId) {
      await engine.cancel({ namespace: NAMESPACE, runId, requestId: systemNewId(), reason: 'the test says so' });
    },
    journal: (runId) => journal.load(runId),
    async status(runId) {
      const { run, tasks } = await engine.getRun(NAMESPACE, runId, false);
      return statusOfRun(run.status, tasks);
    },
    kill: switched.kill,
  };
  const end = async () => {
    await core.stop(switched.isDead() ? 0 : 5_000).catch(() => undefined);
    await engine.close();
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
