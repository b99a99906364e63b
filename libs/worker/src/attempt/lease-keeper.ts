import type { workerV1 } from '@baton/contracts';
import { heartbeatResultFromProto } from '@baton/wire';
import { AttemptAborted, type AbortCause } from '../errors.js';
import type { SessionClient } from '../session/session-client.js';
import { after } from '../timers.js';

export interface GrantedLease {
  readonly runId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly leaseId: string;
  readonly ttlMs: number;
  readonly startToCloseMs: number;
  /** performance.now() when the acquire was sent: the lease cannot have begun earlier. */
  readonly askedAt: number;
}

/**
 * Renews one lease and aborts the attempt when it must stop.
 *
 * L1. The worker's own monotonic clock decides: once `ttlMs` have passed since the last renewal that succeeded was
 *     *sent*, the lease is taken as lost, whatever the network says. The database's expiry cannot come sooner.
 * L2. The first cause stays; a lost lease after a cancel is still a cancel.
 */
export class LeaseKeeper {
  private readonly controller = new AbortController();
  private renewedAt: number;
  private ttlMs: number;
  private stopBeat: (() => void) | undefined;
  private stopFence: (() => void) | undefined;
  private readonly stopTimeout: (() => void) | undefined;
  private progress: string | undefined;
  private isProgressDue = false;
  private isBeating = false;
  private isReleased = false;

  constructor(
    private readonly lease: GrantedLease,
    private readonly session: Pick<SessionClient, 'heartbeat'>,
  ) {
    this.renewedAt = lease.askedAt;
    // The same lease given again may have less than a millisecond left: then it is lost at once.
    this.ttlMs = Math.max(1, lease.ttlMs);
    this.armFence();
    this.planBeat(this.ttlMs / BEATS_PER_TTL);
    if (lease.startToCloseMs > 0) {
      this.stopTimeout = after(lease.askedAt + lease.startToCloseMs - performance.now(), () => this.abort('TIMEOUT'));
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get cause(): AbortCause | undefined {
    const reason: unknown = this.controller.signal.reason;
    return reason instanceof AttemptAborted ? reason.code : undefined;
  }

  abort(cause: AbortCause): void {
    if (!this.controller.signal.aborted) this.controller.abort(new AttemptAborted(cause));
  }

  /** Progress goes out at once, but not more often than a few times in each time to live. */
  setProgress(progress: string): void {
    this.progress = progress;
    this.isProgressDue = true;
    if (performance.now() - this.renewedAt >= this.ttlMs / MIN_GAP_PER_TTL) this.planBeat(0);
  }

  /** The attempt has ended and its report is with the coordinator. */
  release(): void {
    this.isReleased = true;
    this.stopBeat?.();
    this.stopFence?.();
    this.stopTimeout?.();
  }

  private planBeat(ms: number): void {
    if (this.isReleased) return;
    this.stopBeat?.();
    this.stopBeat = after(ms, () => void this.beat());
  }

  private async beat(): Promise<void> {
    if (this.isBeating || this.isReleased) return;
    this.isBeating = true;
    const sentAt = performance.now();
    try {
      const result = heartbeatResultFromProto(await this.session.heartbeat(this.request()));
      if (!this.isReleased) this.apply(result, sentAt);
    } catch {
      // The session is closed, or the coordinator cannot read the call: the fence (L1) has the last word.
      this.planBeat(this.ttlMs / BEATS_PER_TTL);
    } finally {
      this.isBeating = false;
    }
  }

  private apply(result: ReturnType<typeof heartbeatResultFromProto>, sentAt: number): void {
    switch (result.status) {
      case 'OK':
        return this.renew(result.ttlMs, sentAt);
      case 'CANCELLED':
        this.abort('CANCELLED');
        return this.renew(result.ttlMs, sentAt);
      case 'LOST':
        return this.lose();
      case 'RETRY':
        return this.planBeat(Math.min(1_000, this.ttlMs / MIN_GAP_PER_TTL));
    }
  }

  private renew(ttlMs: number | undefined, sentAt: number): void {
    this.renewedAt = sentAt;
    if (ttlMs !== undefined && ttlMs > 0) this.ttlMs = ttlMs;
    this.armFence();
    this.planBeat(this.isProgressDue ? this.ttlMs / MIN_GAP_PER_TTL : this.ttlMs / BEATS_PER_TTL);
  }

  private lose(): void {
    this.stopBeat?.();
    this.stopFence?.();
    this.abort('LEASE_LOST');
  }

  private armFence(): void {
    this.stopFence?.();
    this.stopFence = after(this.renewedAt + this.ttlMs - performance.now(), () => this.lose());
  }

  private request(): workerV1.HeartbeatRequest {
    const { runId, taskId, attempt, leaseId } = this.lease;
    this.isProgressDue = false;
    return { runId, taskId, attempt, leaseId, ttlSeconds: 0n, progress: this.progress };
  }
}

const BEATS_PER_TTL = 3;
const MIN_GAP_PER_TTL = 10;
