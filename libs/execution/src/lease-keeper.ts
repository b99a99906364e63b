import type { Clock } from './clock.js';
import { AttemptAborted, type AbortCause } from './errors.js';

export interface KeptLease {
  readonly ttlMs: number;
  /** 0 = no limit. */
  readonly startToCloseMs: number;
  /** The clock's time when the lease was asked for: it cannot have begun earlier. */
  readonly askedAt: number;
}

/** What the owner of the lease says to one heartbeat. */
export interface BeatAnswer {
  readonly status: 'OK' | 'LOST' | 'CANCELLED' | 'RETRY';
  /** The time to live from now on; absent or 0 = as before. */
  readonly ttlMs?: number | undefined;
}

/** `infra_error`: nobody could say. `stale_lease`: the lease is somebody else's, or nobody's. */
export type BeatFailureReason = 'infra_error' | 'stale_lease';

export interface LeaseKeeperParts {
  readonly lease: KeptLease;
  readonly clock: Clock;
  /** One heartbeat. Rejects when nobody could say: then the next one asks again. */
  beat(progress: string | undefined): Promise<BeatAnswer>;
  /** Default: three in each time to live. */
  readonly beatEveryMs?: number;
  readonly onBeatFailure?: (reason: BeatFailureReason, error: unknown) => void;
  /** The attempt must stop: called once, after its signal was aborted. */
  readonly onAbort?: (cause: AbortCause) => void;
}

/**
 * Renews one lease and aborts the attempt when it must stop.
 *
 * L1. The process's own monotonic clock decides: once `ttlMs` have passed since the last renewal that succeeded was
 *     *sent*, the lease is taken as lost, whatever the network says. The database's expiry cannot come sooner.
 * L2. The first cause stays; a lost lease after a cancel is still a cancel.
 * L3. A lost lease is not renewed any more, and nothing is armed after `release`.
 * L4. One timer, armed for the earliest of heartbeat, fence and timeout: most attempts end before any of them.
 */
export class LeaseKeeper {
  /** Made when somebody asks for it: most attempts end without. */
  private controller: AbortController | undefined;
  private abortedBy: AbortCause | undefined;
  private renewedAt: number;
  private ttlMs: number;
  private beatAt = Number.POSITIVE_INFINITY;
  private fenceAt: number;
  private timeoutAt: number;
  private armedFor = Number.POSITIVE_INFINITY;
  private stopAlarm: (() => void) | undefined;
  private progress: string | undefined;
  private isProgressDue = false;
  private isBeating = false;
  private isReleased = false;
  private isLost = false;
  private isDenied = false;

  constructor(private readonly parts: LeaseKeeperParts) {
    const { lease } = parts;
    this.renewedAt = lease.askedAt;
    // The same lease given again may have less than a millisecond left: then it is lost at once.
    this.ttlMs = Math.max(1, lease.ttlMs);
    this.fenceAt = this.renewedAt + this.ttlMs;
    this.timeoutAt = lease.startToCloseMs > 0 ? lease.askedAt + lease.startToCloseMs : Number.POSITIVE_INFINITY;
    this.planBeat(this.beatEveryMs);
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.abortedBy !== undefined) this.controller.abort(new AttemptAborted(this.abortedBy));
    return this.controller.signal;
  }

  get cause(): AbortCause | undefined {
    return this.abortedBy;
  }

  /** The owner of the lease said that it is gone. Not so when the own clock gave it up: a report may be in time (R14). */
  get wasDenied(): boolean {
    return this.isDenied;
  }

  abort(cause: AbortCause): void {
    if (this.abortedBy !== undefined) return;
    this.abortedBy = cause;
    this.controller?.abort(new AttemptAborted(cause));
    this.parts.onAbort?.(cause);
  }

  /** One heartbeat now; resolves when it is answered, or when the attempt must stop, whichever comes first. */
  async beatNow(): Promise<void> {
    this.beatAt = Number.POSITIVE_INFINITY;
    const { signal } = this;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      void this.beat().finally(resolve);
    });
  }

  /** Progress goes out at once, but not more often than a few times in each time to live. */
  setProgress(progress: string): void {
    this.progress = progress;
    this.isProgressDue = true;
    if (this.parts.clock.now() - this.renewedAt >= this.ttlMs / MIN_GAP_PER_TTL) this.planBeat(0);
  }

  /** The attempt has ended, and nobody needs its lease any more. */
  release(): void {
    this.isReleased = true;
    this.stopAlarm?.();
  }

  private get beatEveryMs(): number {
    const { beatEveryMs } = this.parts;
    // A lease that is shorter than what was asked for needs its heartbeats sooner.
    return beatEveryMs !== undefined && beatEveryMs * 2 < this.ttlMs ? beatEveryMs : this.ttlMs / BEATS_PER_TTL;
  }

  private planBeat(ms: number): void {
    if (this.isReleased || this.isLost) return;
    this.beatAt = this.parts.clock.now() + ms;
    this.arm();
  }

  /** L4. */
  private arm(): void {
    const at = this.isReleased ? Number.POSITIVE_INFINITY : Math.min(this.beatAt, this.fenceAt, this.timeoutAt);
    if (at === this.armedFor) return;
    this.stopAlarm?.();
    this.stopAlarm = undefined;
    this.armedFor = at;
    if (at === Number.POSITIVE_INFINITY) return;
    const { clock } = this.parts;
    this.stopAlarm = clock.after(at - clock.now(), () => this.ring());
  }

  private ring(): void {
    this.armedFor = Number.POSITIVE_INFINITY;
    this.stopAlarm = undefined;
    const now = this.parts.clock.now();
    if (now >= this.timeoutAt) {
      this.timeoutAt = Number.POSITIVE_INFINITY;
      this.abort('TIMEOUT');
    }
    if (now >= this.fenceAt) this.lose();
    else if (now >= this.beatAt) {
      this.beatAt = Number.POSITIVE_INFINITY;
      void this.beat();
    }
    this.arm();
  }

  private async beat(): Promise<void> {
    if (this.isBeating || this.isReleased || this.isLost) return;
    this.isBeating = true;
    const sentAt = this.parts.clock.now();
    this.isProgressDue = false;
    try {
      const answer = await this.parts.beat(this.progress);
      if (!this.isReleased && !this.isLost) this.apply(answer, sentAt);
    } catch (error) {
      // Nobody could say: ask again sooner than usual; the fence (L1) has the last word.
      if (!this.isReleased) this.parts.onBeatFailure?.('infra_error', error);
      this.planBeat(this.beatEveryMs / 2);
    } finally {
      this.isBeating = false;
    }
  }

  private apply(answer: BeatAnswer, sentAt: number): void {
    switch (answer.status) {
      case 'OK':
        return this.renew(answer.ttlMs, sentAt);
      case 'CANCELLED':
        this.abort('CANCELLED');
        return this.renew(answer.ttlMs, sentAt);
      case 'RETRY':
        return this.planBeat(Math.min(1_000, this.ttlMs / MIN_GAP_PER_TTL));
      default:
        // LOST, and words of a peer that is newer than this code: whoever cannot tell must not go on.
        this.isDenied = true;
        this.lose();
        this.parts.onBeatFailure?.('stale_lease', undefined);
    }
  }

  private renew(ttlMs: number | undefined, sentAt: number): void {
    this.renewedAt = sentAt;
    if (ttlMs !== undefined && ttlMs > 0) this.ttlMs = ttlMs;
    this.fenceAt = sentAt + this.ttlMs;
    this.planBeat(this.isProgressDue ? this.ttlMs / MIN_GAP_PER_TTL : this.beatEveryMs);
  }

  private lose(): void {
    this.isLost = true;
    this.beatAt = Number.POSITIVE_INFINITY;
    this.fenceAt = Number.POSITIVE_INFINITY;
    this.arm();
    this.abort('LEASE_LOST');
  }
}

const BEATS_PER_TTL = 3;
const MIN_GAP_PER_TTL = 10;
