import { createLibraryStore, type LibraryStore } from '@baton/storage-postgres';
import { embeddedClient } from '../client/create-client.js';
import { sagaEventNames } from '../events/event-names.js';
import { systemClock } from '../executor/system-clock.js';
import { SagaError } from '../journal/errors.js';
import { postgresBacklog } from '../observe/postgres-backlog.js';
import type { PlatformAddress } from '../platform/options.js';
import { openSagaStore, type SagaStoreOptions } from '../storage/postgres-store.js';
import type { SagaStore } from '../storage/saga-store.js';
import { embed } from './embedded-parts.js';
import { checkSettings, type SagaRuntimeSettings } from './options.js';
import { EmbeddedRuntime, type SagaRuntime } from './saga-runtime.js';

export interface SagaRuntimeOptions extends SagaRuntimeSettings {
  /**
   * `embedded` (the default): on the service's own PostgreSQL. `platform`: the sagas are published to a Baton platform,
   * and their steps run here by a worker of it; of the settings then `registry`, `namespace`, `concurrency` and `logger`
   * count.
   */
  readonly mode?: 'embedded' | 'platform';
  /** With mode `platform`: where it is. */
  readonly platform?: PlatformAddress;
  /** The service's own PostgreSQL; connections of the runtime's own, which `close` ends. */
  readonly database?: SagaStoreOptions;
  /** Instead of `database`: a store that somebody else has opened, and closes. */
  readonly store?: SagaStore;
  /** Topic of the events. Default `baton.<namespace>.events`. */
  readonly topic?: string;
}

/**
 * Opens the database and makes a runtime, which is stopped, and its client. Nothing is published or claimed before
 * `start`.
 *
 * Rejects with `PART_MISSING` or `CONFIG_INVALID` (invalid), naming everything that is wrong, or with what `openSagaStore`
 * says of the database (`SCHEMA_MISSING`, `SCHEMA_NEWER`, unavailable).
 */
export async function createSagaRuntime(options: SagaRuntimeOptions): Promise<SagaRuntime> {
  checkSettings(options);
  if (options.mode === 'platform') return openPlatform(options);
  const opened = await openStores(options);
  const { store, library } = opened;
  const { registry: resolver, namespace = 'default', clock = systemClock, topic } = options;
  const { core, journal, engine } = embed({
    ...options,
    store,
    events: sagaEventNames(topic === undefined ? {} : { topic }),
    ...(library !== undefined && { readBacklog: postgresBacklog({ store: library, namespace, resolver }) }),
  });
  const client = embeddedClient({
    ...{ store, journal, engine, resolver, namespace, clock, dispatcher: core },
    // It ends with the runtime.
    close: () => Promise.resolve(),
  });
  return new EmbeddedRuntime(core, client, async () => {
    await engine.close();
    await opened.close();
  });
}

/** Loaded here alone: whoever is embedded loads neither Kafka nor gRPC. */
async function openPlatform(options: SagaRuntimeOptions): Promise<SagaRuntime> {
  const { platform, registry, namespace, concurrency, logger } = options;
  if (platform === undefined) throw missing('platform', 'mode platform needs to know where the platform is');
  const { PlatformSagaRuntime } = await import('../platform/platform-runtime.js');
  return new PlatformSagaRuntime({
    ...{ platform, registry },
    ...(namespace !== undefined && { namespace }),
    ...(concurrency !== undefined && { concurrency }),
    ...(logger !== undefined && { logger }),
  });
}

function missing(part: string, message: string): SagaError {
  const details = [{ pointer: `/${part}`, code: 'PART_MISSING', message: `${part} is missing` }];
  return new SagaError('invalid', 'PART_MISSING', message, { details });
}

interface OpenedStores {
  readonly store: SagaStore;
  /** Only where metrics ask for what waits. */
  readonly library: LibraryStore | undefined;
  close(): Promise<void>;
}

async function openStores({ database, store, metrics, logger }: SagaRuntimeOptions): Promise<OpenedStores> {
  if (store !== undefined) return { store, library: undefined, close: () => Promise.resolve() };
  if (database === undefined) throw missing('database', 'a saga runtime needs a database, or a store');
  const onConnectionError = (error: Error) =>
    logger?.warn({ err: error }, 'a database connection of the sagas was lost');
  const opened = await openSagaStore({ onConnectionError, ...database });
  const { url, config, pooler } = database;
  const library =
    metrics === undefined
      ? undefined
      : createLibraryStore({
          applicationName: 'baton saga metrics',
          poolSize: 1,
          onConnectionError,
          ...(url !== undefined && { url }),
          ...(config !== undefined && { config }),
          ...(pooler !== undefined && { pooler }),
        });
  return {
    store: opened,
    library,
    close: async () => {
      await Promise.all([opened.close(), library?.close()]);
    },
  };
}
