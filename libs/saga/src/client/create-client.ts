import { publishSagas } from '../definition/publish-sagas.js';
import { SagaRegistry } from '../definition/registry.js';
import type { SagaResolver } from '../definition/saga.js';
import { sagaEventNames } from '../events/event-names.js';
import { systemClock, systemNewId } from '../executor/system-clock.js';
import { SagaError } from '../journal/errors.js';
import { createJournal } from '../journal/journal.js';
import type { GatewayOptions } from '../platform/gateway-api.js';
import { openSagaEngine } from '../storage/open-engine.js';
import { openSagaStore, type SagaStoreOptions } from '../storage/postgres-store.js';
import type { SagaStore } from '../storage/saga-store.js';
import type { SagaClient } from './client.js';
import { EmbeddedSagaClient, type EmbeddedClientParts } from './embedded-client.js';

export interface SagaClientOptions {
  /** `embedded` (the default): on the service's own PostgreSQL. `platform`: over the gateway of a Baton platform. */
  readonly mode?: 'embedded' | 'platform';
  /** With mode `embedded`. */
  readonly database?: SagaStoreOptions;
  /** With mode `platform`. */
  readonly platform?: GatewayOptions;
  /** Sagas that this process starts; they are published. Default: none, others have published them. */
  readonly registry?: SagaResolver;
  /** Default `default`. */
  readonly namespace?: string;
  /** Topic of the events that its commands make. Default `baton.<namespace>.events`. */
  readonly topic?: string;
}

/**
 * A client for a process that runs no steps: an API in front, a job, a console. Whoever runs the steps finds new runs at
 * its next look. Close it at the end. With mode `platform` it publishes nothing: whoever serves the steps does.
 *
 * Rejects with `PART_MISSING` (invalid), as opening a database does, or with `DEFINITION_CHANGED` (conflict).
 */
export async function createSagaClient(options: SagaClientOptions): Promise<SagaClient> {
  const { mode = 'embedded', database, platform, registry, namespace } = options;
  if (mode === 'platform') {
    if (platform === undefined) throw missing('platform');
    const { createPlatformClient } = await import('../platform/platform-client.js');
    return createPlatformClient({
      platform,
      ...(registry !== undefined && { registry }),
      ...(namespace !== undefined && { namespace }),
    });
  }
  if (database === undefined) throw missing('database');
  const store = await openSagaStore(database);
  try {
    return await clientOn(store, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

function missing(part: 'platform' | 'database'): SagaError {
  const message = `${part} is missing`;
  const details = [{ pointer: `/${part}`, code: 'PART_MISSING', message }];
  return new SagaError('invalid', 'PART_MISSING', message, { details });
}

/** Over an opened store, which it closes at its end. */
export async function clientOn(
  store: SagaStore,
  {
    registry: resolver = new SagaRegistry([]),
    namespace = 'default',
    topic,
  }: Pick<SagaClientOptions, 'registry' | 'namespace' | 'topic'> = {},
): Promise<SagaClient> {
  await store.timers.ensurePartitions();
  await publishSagas(store.definitions, namespace, resolver);
  const engine = openSagaEngine(store, { events: sagaEventNames(topic === undefined ? {} : { topic }) });
  const journal = createJournal({ store, engine, resolver, namespace, owner: systemNewId(), newId: systemNewId });
  const close = async () => {
    await engine.close();
    await store.close();
  };
  return embeddedClient({ store, journal, engine, resolver, namespace, dispatcher: null, close });
}

/** The client of a process that has these parts already, such as a runtime. */
export function embeddedClient(
  parts: Omit<EmbeddedClientParts, 'clock' | 'newId' | 'deployedVersion'> & {
    readonly store: Pick<SagaStore, 'runs'>;
    readonly clock?: EmbeddedClientParts['clock'];
  },
): SagaClient {
  const { store, clock = systemClock, ...rest } = parts;
  return new EmbeddedSagaClient({
    ...rest,
    clock,
    newId: systemNewId,
    deployedVersion: (namespace, sagaId) => store.runs.deployedVersion(namespace, sagaId),
  });
}
