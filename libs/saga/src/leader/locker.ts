/** A lock by name with a time to live, renewed until it ends. An efficiency lock: correctness is the lease's (R9). */
export interface Locker {
  /** Does not wait: null = somebody else holds it. Rejects when the backend cannot tell. `ttlMs` is 1 or more. */
  acquire(key: string, ttlMs: number): Promise<HeldLock | null>;
}

export interface HeldLock {
  /** Aborted when the lock has ended: released, orphaned or lost. */
  readonly ended: AbortSignal;
  readonly end: 'released' | 'orphaned' | 'lost' | null;
  /** Gives it up in the backend. Safe to call more than once. */
  release(): Promise<void>;
  /** Stops renewing, without I/O: the key dies with its time to live. */
  orphan(): void;
}
