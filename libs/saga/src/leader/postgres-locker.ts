import { createLibraryStore, type LibraryStore, type PoolOptions } from '@baton/storage-postgres';
import type { Clock } from '../executor/types.js';
import { systemClock, systemNewId } from '../executor/system-clock.js';
import type { Locker } from './locker.js';
import { RenewingLocker, type LockBackend } from './renewing-locker.js';

export interface PostgresLockerOptions extends PoolOptions {
  readonly clock?: Clock;
  /** A fresh UUID. */
  readonly newToken?: () => string;
}

export interface PostgresLocker extends Locker {
  /** Ends the connections. Locks that are still held die with their time to live. */
  close(): Promise<void>;
}

/** Locks as rows, by the database's clock, for any number of processes. Needs the tables of library mode. */
export function postgresLocker(options: PostgresLockerOptions): PostgresLocker {
  const { clock = systemClock, newToken = systemNewId, ...pool } = options;
  const store = createLibraryStore({ applicationName: 'baton-locks', ...pool });
  const locker = new RenewingLocker({ backend: postgresBackend(store), clock, newToken });
  return { acquire: (key, ttlMs) => locker.acquire(key, ttlMs), close: () => store.close() };
}

type LockRows = Pick<LibraryStore, 'takeRunLock' | 'renewRunLock' | 'releaseRunLock' | 'purgeRunLocks'>;

/** Now and then it clears away what processes that died have left, so that the table stays as small as its locks. */
export function postgresBackend(store: LockRows): LockBackend {
  let taken = 0;
  return {
    async take(claim, ttlMs) {
      const isTaken = await store.takeRunLock(claim, ttlMs);
      if (isTaken && (taken += 1) % PURGE_EVERY === 1) void store.purgeRunLocks(PURGE_EVERY * 2).catch(() => undefined);
      return isTaken;
    },
    renew: (claim, ttlMs) => store.renewRunLock(claim, ttlMs),
    release: (claim) => store.releaseRunLock(claim),
  };
}

const PURGE_EVERY = 500;
