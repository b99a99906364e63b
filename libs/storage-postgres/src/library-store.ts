import { integer, integerOrNull } from './decode.js';
import { Database, type PoolOptions } from './pool.js';
import { publishIn, type NewDefinition, type PublishedDefinition } from './publish-definition.js';

/** What waits, as far as it was counted. */
export interface Backlog {
  readonly running: number;
  readonly compensating: number;
  /** Tasks that a claim of the queues would find. */
  readonly claimable: number;
  /** How long the oldest of them has been waiting; null = there is none. */
  readonly oldestClaimableMs: number | null;
}

/** What the embedded runtime needs of the database besides the engine's store. Durations in milliseconds. */
export interface LibraryStore {
  /** false = somebody else holds it. The same token again takes the same lock again. */
  takeRunLock(lock: RunLock, ttlMs: number): Promise<boolean>;
  /** false = it is not ours any more. */
  renewRunLock(lock: RunLock, ttlMs: number): Promise<boolean>;
  releaseRunLock(lock: RunLock): Promise<void>;
  /** Locks whose time is over, at most `limit`; answers how many. */
  purgeRunLocks(limit: number): Promise<number>;
  /** Each count stops at `limit`. */
  readBacklog(namespace: string, queues: readonly string[], limit: number): Promise<Backlog>;
  /** Unless the version is there. A version that it makes is deployed if none newer is. */
  publishDefinition(definition: NewDefinition): Promise<PublishedDefinition>;
  close(): Promise<void>;
}

export interface RunLock {
  readonly key: string;
  /** UUID of one taking of the lock. */
  readonly token: string;
}

/** Owns its pool. */
export function createLibraryStore(options: PoolOptions): LibraryStore {
  const db = new Database({ poolSize: 2, ...options });
  return {
    async takeRunLock(lock, ttlMs) {
      return (await db.runRepeatable('take-run-lock', { ...lock, ttlMs })).length > 0;
    },
    async renewRunLock(lock, ttlMs) {
      return (await db.runRepeatable('renew-run-lock', { ...lock, ttlMs })).length > 0;
    },
    async releaseRunLock(lock) {
      await db.runRepeatable('release-run-lock', { ...lock });
    },
    async purgeRunLocks(limit) {
      return (await db.runRepeatable('purge-run-locks', { limit })).length;
    },
    async readBacklog(namespace, queues, limit) {
      const [row] = await db.runRepeatable('read-backlog', { namespace, queues: [...queues], limit });
      if (row === undefined) throw new Error('the backlog has one row');
      const [running, compensating, claimable, oldestClaimableMs] = row;
      return {
        running: integer(running),
        compensating: integer(compensating),
        claimable: integer(claimable),
        oldestClaimableMs: integerOrNull(oldestClaimableMs),
      };
    },
    publishDefinition: (definition) =>
      publishIn({ run: (name, values) => db.runRepeatable(name, values) }, definition, 'newer'),
    close: () => db.close(),
  };
}
