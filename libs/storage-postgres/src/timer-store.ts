import { readDue, type DueScan } from './due.js';
import { Database, type PoolOptions } from './pool.js';
import { integer } from './decode.js';

/** What the timer service needs of the database: what is due, and whose turn it is. */
export interface TimerStore {
  readDue(limit: number): Promise<DueScan>;
  /**
   * Takes the role or renews it, by the database clock. undefined = another owner has it. The epoch rises with each
   * change of hands.
   */
  takeServiceLease(role: string, owner: string, ttlMs: number): Promise<{ readonly epoch: number } | undefined>;
  /** Gives it up, so that a standby need not wait for its end. */
  releaseServiceLease(role: string, owner: string): Promise<void>;
  /** R25: makes partitions ahead of time. */
  ensurePartitions(): Promise<void>;
  /** R24: deletes keys whose time is over, at most `limit`; answers how many. */
  purgeKeys(limit: number): Promise<number>;
  close(): Promise<void>;
}

export function createTimerStore(options: PoolOptions): TimerStore {
  const db = new Database({ poolSize: 3, ...options });
  return {
    readDue: (limit) => readDue(db, limit),
    async takeServiceLease(role, owner, ttlMs) {
      const [row] = await db.runRepeatable('take-service-lease', { role, owner, ttlMs });
      return row === undefined ? undefined : { epoch: integer(row[0]) };
    },
    async releaseServiceLease(role, owner) {
      await db.runRepeatable('release-service-lease', { role, owner });
    },
    async ensurePartitions() {
      await db.runRepeatable('ensure-partitions', {});
    },
    async purgeKeys(limit) {
      return (await db.runRepeatable('purge-keys', { limit })).length;
    },
    close: () => db.close(),
  };
}
