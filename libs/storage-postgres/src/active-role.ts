import type { TimerStore } from './timer-store.js';

export interface RoleOptions {
  readonly role: string;
  /** Unique for each process. */
  readonly owner: string;
  readonly leaseMs: number;
}

/**
 * One active owner at a time, by a lease row and the database clock (R22). Two owners for a moment, after a long pause
 * of this process, cost nothing but double work: what is handed over is decided under the run's lock.
 */
export class ActiveRole {
  /** By the monotonic clock: the lease is good at least until then. */
  private goodUntil = Number.NEGATIVE_INFINITY;
  private currentEpoch: number | undefined;

  constructor(
    private readonly store: Pick<TimerStore, 'takeServiceLease' | 'releaseServiceLease'>,
    private readonly options: RoleOptions,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  get isActive(): boolean {
    return this.clock() < this.goodUntil;
  }

  /** Rises with each change of hands; undefined while standing by. */
  get epoch(): number | undefined {
    return this.isActive ? this.currentEpoch : undefined;
  }

  /** Takes the role or keeps it. Renews when a third of the lease is used up: one write a second, not one a turn. */
  async hold(): Promise<boolean> {
    const { role, owner, leaseMs } = this.options;
    if (this.goodUntil - this.clock() > (leaseMs * 2) / 3) return true;
    // Counted from before the call: the database may have answered late, never early.
    const askedAt = this.clock();
    const lease = await this.store.takeServiceLease(role, owner, leaseMs);
    this.goodUntil = lease === undefined ? Number.NEGATIVE_INFINITY : askedAt + leaseMs;
    this.currentEpoch = lease?.epoch;
    return lease !== undefined;
  }

  async release(): Promise<void> {
    if (this.currentEpoch === undefined) return;
    this.goodUntil = Number.NEGATIVE_INFINITY;
    this.currentEpoch = undefined;
    await this.store.releaseServiceLease(this.options.role, this.options.owner);
  }
}
