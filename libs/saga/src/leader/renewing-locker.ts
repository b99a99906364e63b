import type { Clock } from '../executor/types.js';
import { SagaError } from '../journal/errors.js';
import type { HeldLock, Locker } from './locker.js';
import { RenewalHeap, type Scheduled } from './renewal-heap.js';

/** One taking of a lock: the token tells its holder from every other one. */
export interface LockClaim {
  readonly key: string;
  readonly token: string;
}

/** Where locks live. Instants are the backend's own. */
export interface LockBackend {
  /** false = somebody else holds it. */
  take(claim: LockClaim, ttlMs: number): Promise<boolean>;
  /** false = it is not this holder's any more. */
  renew(claim: LockClaim, ttlMs: number): Promise<boolean>;
  /** Does nothing if it is not this holder's any more. */
  release(claim: LockClaim): Promise<void>;
}

export interface RenewingLockerParts {
  readonly backend: LockBackend;
  readonly clock: Clock;
  /** A fresh UUID. */
  readonly newToken: () => string;
}

/**
 * Locks that renew themselves until they end.
 *
 * H1. One timer for all locks, armed for the earliest of their instants; none when there is no lock.
 * H2. A renewal runs beside: a slow backend delays no other lock, and no release or orphan.
 * H3. A lock ends once: released, orphaned or lost. What a renewal answers after that changes nothing.
 * H4. `false` from the backend is the end. An error is not: it is tried again until nine tenths of the time to live have
 *     passed since the last good renewal was sent; then the lock is lost, before the backend can give it to others.
 */
export class RenewingLocker implements Locker {
  private readonly heap = new RenewalHeap<Renewal>();
  private stopTimer: (() => void) | undefined;
  private armedFor = Number.POSITIVE_INFINITY;

  constructor(private readonly parts: RenewingLockerParts) {}

  /** Locks that are renewed now. */
  get held(): number {
    return this.heap.size;
  }

  async acquire(key: string, ttlMs: number): Promise<HeldLock | null> {
    if (key === '') throw new SagaError('invalid', 'LOCK_KEY_EMPTY', 'a lock needs a key');
    if (!(Number.isFinite(ttlMs) && ttlMs >= 1)) {
      throw new SagaError('invalid', 'LOCK_TTL_TOO_SHORT', `a lock needs a time to live of at least 1 ms: ${ttlMs}`);
    }
    const { backend, clock, newToken } = this.parts;
    const claim = { key, token: newToken() };
    const sentAt = clock.now();
    if (!(await this.taken(backend, claim, ttlMs))) return null;
    const renewal = new Renewal(claim, ttlMs, sentAt);
    this.put(renewal, sentAt + ttlMs / RENEWALS_PER_TTL);
    return this.handleOf(renewal);
  }

  private async taken(backend: LockBackend, claim: LockClaim, ttlMs: number): Promise<boolean> {
    try {
      return await backend.take(claim, ttlMs);
    } catch (error) {
      // It may have been taken all the same; nobody here will ever use it.
      void backend.release(claim).catch(() => undefined);
      throw error;
    }
  }

  private handleOf(renewal: Renewal): HeldLock {
    return {
      ended: renewal.controller.signal,
      get end() {
        return renewal.end;
      },
      release: () => this.release(renewal),
      orphan: () => this.finish(renewal, 'orphaned'),
    };
  }

  private async release(renewal: Renewal): Promise<void> {
    if (!this.finish(renewal, 'released')) return;
    const { backend, clock } = this.parts;
    let stop: () => void = () => undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      const late = () =>
        reject(new SagaError('unavailable', 'LOCK_RELEASE_TIMEOUT', 'the lock was not released in time'));
      stop = clock.after(RELEASE_BUDGET_MS, late);
    });
    try {
      await Promise.race([backend.release(renewal.claim), tooLate]);
    } finally {
      stop();
    }
  }

  /** H3. Answers whether this was the end. */
  private finish(renewal: Renewal, end: NonNullable<HeldLock['end']>): boolean {
    if (renewal.end !== null) return false;
    renewal.end = end;
    this.heap.remove(renewal);
    this.arm();
    renewal.controller.abort(end);
    return true;
  }

  private put(renewal: Renewal, at: number): void {
    this.heap.put(renewal, at);
    this.arm();
  }

  private arm(): void {
    const at = this.heap.earliest?.at ?? Number.POSITIVE_INFINITY;
    if (at === this.armedFor) return;
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.armedFor = at;
    if (at === Number.POSITIVE_INFINITY) return;
    const { clock } = this.parts;
    this.stopTimer = clock.after(Math.max(0, at - clock.now()), () => this.fire());
  }

  private fire(): void {
    const now = this.parts.clock.now();
    this.armedFor = Number.POSITIVE_INFINITY;
    this.stopTimer = undefined;
    for (let due = this.heap.earliest; due !== undefined && due.at <= now; due = this.heap.earliest) {
      if (now >= due.lostAt) this.finish(due, 'lost');
      else {
        this.heap.put(due, due.lostAt);
        void this.renew(due);
      }
    }
    this.arm();
  }

  private async renew(renewal: Renewal): Promise<void> {
    const { backend, clock } = this.parts;
    const sentAt = clock.now();
    try {
      const isOurs = await backend.renew(renewal.claim, renewal.ttlMs);
      if (renewal.end !== null) return;
      if (!isOurs) this.finish(renewal, 'lost');
      else {
        renewal.renewedAt = sentAt;
        this.put(renewal, sentAt + renewal.ttlMs / RENEWALS_PER_TTL);
      }
    } catch {
      const retryAt = clock.now() + renewal.ttlMs / RETRIES_PER_TTL;
      if (renewal.end === null) this.put(renewal, Math.min(retryAt, renewal.lostAt));
    }
  }
}

class Renewal implements Scheduled {
  at = 0;
  index = -1;
  end: HeldLock['end'] = null;
  readonly controller = new AbortController();

  constructor(
    readonly claim: LockClaim,
    readonly ttlMs: number,
    /** When the last good renewal was sent. */
    public renewedAt: number,
  ) {}

  get lostAt(): number {
    return this.renewedAt + this.ttlMs * (1 - DRIFT);
  }
}

const RENEWALS_PER_TTL = 3;
const RETRIES_PER_TTL = 10;
/** Clocks of two machines do not run at quite the same speed. */
const DRIFT = 0.1;
const RELEASE_BUDGET_MS = 5_000;
