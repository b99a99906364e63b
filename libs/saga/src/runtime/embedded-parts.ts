import { hostname } from 'node:os';
import type { EngineApi, EngineHooks, EventNames } from '@baton/engine';
import { ActiveRole } from '@baton/storage-postgres';
import { publishSagas } from '../definition/publish-sagas.js';
import { StepExecutor } from '../executor/step-executor.js';
import { systemClock, systemNewId, systemRandom, systemWallClock } from '../executor/system-clock.js';
import { createJournal, type SagaJournal } from '../journal/journal.js';
import { RunLeaderGate } from '../leader/leader-gate.js';
import { observeRetries } from '../observe/engine-hooks.js';
import { guardLogger, guardRelay, guardTracer } from '../observe/guard-given.js';
import { guardObserver, observeWith } from '../observe/guard-observer.js';
import { SagaMetrics, type SagaBacklog } from '../observe/metrics.js';
import type { SagaLogger } from '../observe/observer.js';
import { nopTracer } from '../observe/tracer.js';
import { openSagaEngine } from '../storage/open-engine.js';
import type { SagaStore } from '../storage/saga-store.js';
import { defaultSagaConfig } from './config.js';
import { stderrLogger } from './stderr-logger.js';
import type { SagaRuntimeSettings } from './options.js';
import { RuntimeCore } from './runtime.js';

/** What a client shares with the runtime of its process. */
export interface Embedded {
  readonly core: RuntimeCore;
  readonly journal: SagaJournal;
  readonly engine: EngineApi;
}

export interface EmbeddedOptions extends SagaRuntimeSettings {
  readonly store: SagaStore;
  readonly events: EventNames;
  readonly readBacklog?: () => Promise<SagaBacklog>;
}

/** Which process fires due rows and keeps partitions, by the database's clock. */
const ROLE = 'saga-timers';
/** Renewed when a third is used up; another process takes over within this time. Milliseconds. */
const ROLE_LEASE_MS = 10_000;

/** Of leases and roles: tells people which process it is, and no two are alike. */
export function ownerName(id: string): string {
  return `${hostname()}:${process.pid}:${id.slice(-8)}`;
}

/** Puts a runtime together over an opened store. The settings have been checked. */
export function embed(options: EmbeddedOptions): Embedded {
  const { registry: resolver, store, namespace = 'default', config = defaultSagaConfig } = options;
  const { clock = systemClock, random = systemRandom } = options;
  const logger = guardLogger(options.logger ?? stderrLogger);
  const tracer = guardTracer(options.tracer ?? nopTracer, logger);
  const owner = ownerName(systemNewId());
  const { observer, hooks } = watchers(options, logger, () => executor.orphans);
  const engine = openSagaEngine(store, { events: options.events, random, hooks });
  const journal = createJournal({ store, engine, resolver, namespace, owner, newId: systemNewId });
  const executor = new StepExecutor({ heartbeater: journal, times: config, clock, logger, observer, tracer });
  const gate = new RunLeaderGate({
    locker: options.leaderElect,
    ttlMs: config.leaseDurationMs,
    ...{ logger, observer },
    isStopping: () => !core.isRunning,
  });
  const { timers } = store;
  const core: RuntimeCore = new RuntimeCore(
    {
      ...{ journal, runner: executor, resolver, config, gate, observer, logger, tracer, clock, random },
      due: {
        readDue: async (limit) => {
          const { items, nextDueInMs } = await timers.readDue(limit);
          return { items, nextDueInMs: nextDueInMs ?? null };
        },
        fireDue: (items) => engine.fireDue(items),
      },
      role: new ActiveRole(timers, { role: ROLE, owner, leaseMs: ROLE_LEASE_MS }, () => clock.now()),
      upkeep: timers,
      concurrency: options.concurrency ?? config.claimBatchSize,
      prepare: async () => {
        await timers.ensurePartitions();
        await publishSagas(store.definitions, namespace, resolver);
      },
    },
    options.relay === undefined ? { kick: () => undefined } : guardRelay(options.relay, logger),
  );
  return { core, journal, engine };
}

function watchers(options: EmbeddedOptions, logger: SagaLogger, readOrphans: () => number) {
  const { clock = systemClock, metrics: registry, cell = 'default', registry: resolver, readBacklog } = options;
  const given = guardObserver(options.observer, { clock, logger });
  const measured =
    registry === undefined
      ? undefined
      : new SagaMetrics({
          ...{ registry, cell, resolver, logger, readOrphans, wallClock: systemWallClock },
          ...(readBacklog !== undefined && { readBacklog }),
        });
  const observer = measured === undefined ? given : observeWith([measured.observer, given]);
  const hooks: EngineHooks = {
    ...observeRetries(observer),
    ...measured?.hooks,
    onStuck: ({ runId }, reason) => logger.error({ run_id: runId, reason }, 'a run is stuck: somebody must look'),
    onStoreError: ({ kind, error }) => {
      const level = kind === 'unavailable' ? 'error' : 'debug';
      logger[level]({ err: error, kind }, 'a statement of the sagas failed');
    },
  };
  return { observer, hooks };
}
