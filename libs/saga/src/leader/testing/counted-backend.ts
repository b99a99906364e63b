import type { LockBackend } from '../renewing-locker.js';

/** Counts the calls of a backend, and knows when none is under way. */
export class CountedBackend implements LockBackend {
  private readonly counts = { take: 0, renew: 0, release: 0 };
  private readonly open = new Set<Promise<unknown>>();

  constructor(private readonly backend: LockBackend) {}

  readonly take: LockBackend['take'] = (claim, ttlMs) => this.counted('take', this.backend.take(claim, ttlMs));
  readonly renew: LockBackend['renew'] = (claim, ttlMs) => this.counted('renew', this.backend.renew(claim, ttlMs));
  readonly release: LockBackend['release'] = (claim) => this.counted('release', this.backend.release(claim));

  /** Calls that hold or end locks. */
  get upkeep(): { readonly renew: number; readonly release: number } {
    const { renew, release } = this.counts;
    return { renew, release };
  }

  async idle(): Promise<void> {
    while (this.open.size > 0) await Promise.allSettled(this.open);
  }

  private async counted<T>(name: 'take' | 'renew' | 'release', call: Promise<T>): Promise<T> {
    this.counts[name] += 1;
    this.open.add(call);
    try {
      return await call;
    } finally {
      this.open.delete(call);
    }
  }
}
