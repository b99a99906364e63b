import type { LibraryStore } from '@baton/storage-postgres';
import type { SagaResolver } from '../definition/saga.js';
import type { SagaBacklog } from './metrics.js';

export interface PostgresBacklogParts {
  readonly store: Pick<LibraryStore, 'readBacklog'>;
  readonly namespace: string;
  readonly resolver: Pick<SagaResolver, 'all'>;
}

/** What `SagaMetrics` shows of what waits, read from the tables. Each count stops at 100,000. */
export function postgresBacklog({ store, namespace, resolver }: PostgresBacklogParts): () => Promise<SagaBacklog> {
  return async () => {
    const queues = [...new Set(resolver.all().map(({ queue }) => queue))];
    const { running, compensating, claimable, oldestClaimableMs } = await store.readBacklog(namespace, queues, BOUND);
    return { activeRuns: { running, compensating }, claimableSteps: claimable, oldestClaimableMs };
  };
}

const BOUND = 100_000;
