import {
  encodeProgress,
  LeaseKeeper,
  verdictOfError,
  verdictOfResult,
  type AbortCause,
  type BeatAnswer,
  type BeatFailureReason,
  type Verdict,
} from '@baton/execution';
import type { SagaStep } from '../definition/saga.js';
import type { ClaimedStep, Heartbeater } from '../journal/ports.js';
import type { SagaLogger } from '../observe/observer.js';
import { compensateContext, stepContext, type AttemptHandle } from './context.js';
import type { LeaseTimes } from './lease-times.js';
import { interrupted, OUTPUT_INVALID, resultOf, sagaRules } from './outcome.js';
import { stepFields } from './step-fields.js';
import type { Clock, StepResult } from './types.js';

export interface AttemptParts {
  readonly claimed: ClaimedStep;
  /** undefined = this process knows no such step. */
  readonly step: SagaStep | undefined;
  /** The clock's time when the lease was asked for. */
  readonly askedAt: number;
  readonly times: LeaseTimes;
  /** How long user code may take to react to an abort before its slot is given up (W20). */
  readonly abandonAfterMs: number;
  readonly heartbeater: Heartbeater;
  readonly clock: Clock;
  readonly logger: SagaLogger;
  readonly onBeatFailure: (reason: BeatFailureReason) => void;
  /** User code was left alone; `settled` resolves when it ends after all, if ever. */
  readonly onAbandoned: (settled: Promise<unknown>) => void;
}

/**
 * One attempt under its lease.
 *
 * X1. User code begins only while the lease is ours by the own monotonic clock, and after a heartbeat if the lease is
 *     not fresh (E11).
 * X2. Heartbeats go on until the result is there and no longer; then no timer of the attempt is left (E10).
 * X3. The result comes at the latest `abandonAfterMs` after an abort, whatever user code does; what it says later is
 *     ignored (W20).
 */
export class StepAttempt {
  private readonly keeper: LeaseKeeper;
  private giveUp: (() => void) | undefined;
  private stopGrace: (() => void) | undefined;

  constructor(private readonly parts: AttemptParts) {
    const { claimed, askedAt, clock, times } = parts;
    this.keeper = new LeaseKeeper({
      lease: { ttlMs: claimed.ttlMs, startToCloseMs: claimed.startToCloseMs ?? 0, askedAt },
      clock,
      beat: (progress) => this.beat(progress),
      beatEveryMs: times.heartbeatIntervalMs,
      onBeatFailure: (reason, error) => this.beatFailed(reason, error),
      onAbort: () => this.armGrace(),
    });
  }

  abort(cause: AbortCause): void {
    this.keeper.abort(cause);
  }

  async run(): Promise<StepResult> {
    try {
      const { askedAt, clock, times, claimed } = this.parts;
      // E11: without I/O where the claim is fresh: its lease cannot have been lost yet.
      const isFresh = clock.now() - askedAt < Math.min(times.heartbeatIntervalMs, claimed.ttlMs);
      if (!isFresh) await this.keeper.beatNow();
      const { cause } = this.keeper;
      return cause === undefined ? await this.settled() : interrupted(cause, false, claimed.nodeId);
    } finally {
      this.keeper.release();
      this.stopGrace?.();
    }
  }

  /** X3: whichever comes first, the end of user code or the end of the patience with it. */
  private settled(): Promise<StepResult> {
    return new Promise((resolve) => {
      // Set before user code runs: it may be aborted within its first synchronous part.
      this.giveUp = () => {
        this.parts.onAbandoned(running);
        resolve(interrupted(this.keeper.cause, true, this.parts.claimed.nodeId));
      };
      const running = this.call(this.userCode());
      void running.then(resolve);
    });
  }

  private armGrace(): void {
    this.stopGrace = this.parts.clock.after(this.parts.abandonAfterMs, () => this.giveUp?.());
  }

  /** Never rejects. */
  private async call(code: (() => unknown) | null): Promise<StepResult> {
    let verdict: Verdict;
    if (code === null) verdict = this.withoutCode();
    else {
      try {
        verdict = this.ofReturned(await code());
      } catch (thrown) {
        verdict = verdictOfError(thrown, this.keeper.cause, sagaRules);
        if (verdict.kind === 'failed') this.logFailure(verdict.code, thrown);
      }
    }
    const { cause, wasDenied } = this.keeper;
    return resultOf({ verdict, aborted: cause, wasDenied, nodeId: this.parts.claimed.nodeId });
  }

  private ofReturned(value: unknown): Verdict {
    const verdict = verdictOfResult(value, sagaRules);
    if (verdict.kind !== 'failed') return verdict;
    // Nobody reads what an undo returns: it has done its work.
    if (this.parts.claimed.kind === 'compensate') return NOTHING;
    this.logFailure(verdict.code, value);
    return verdict;
  }

  /** Here, and nowhere else, with everything that is known: what is recorded leaves it out (C21). */
  private logFailure(code: string, cause: unknown): void {
    const { logger, claimed } = this.parts;
    const err = code === OUTPUT_INVALID ? new Error(`a ${typeof cause} that cannot be kept as JSON`) : cause;
    try {
      logger.warn({ ...stepFields(claimed), code, err }, 'a step failed');
    } catch {
      // Thrown things may have getters that throw when a logger reads them.
      logger.warn({ ...stepFields(claimed), code }, 'a step failed with something that cannot be logged');
    }
  }

  private userCode(): (() => unknown) | null {
    const { claimed, step } = this.parts;
    if (step === undefined) return null;
    const { run, compensate } = step;
    if (claimed.kind === 'forward') return run && (() => run(stepContext(claimed, step, this.handle())));
    return compensate && (() => compensate(compensateContext(claimed, step, this.handle())));
  }

  /** A step without an undo has nothing to undo (E9). A step without `run` is another process's. */
  private withoutCode(): Verdict {
    if (this.parts.claimed.kind === 'compensate') return NOTHING;
    const message = 'this process has no code for the step';
    return { kind: 'failed', code: 'NO_HANDLER', message, retryable: true };
  }

  private handle(): AttemptHandle {
    const { keeper } = this;
    return {
      get signal() {
        return keeper.signal;
      },
      heartbeat: (progress) => {
        if (progress !== undefined) keeper.setProgress(encodeProgress(progress));
      },
    };
  }

  private beat(progress: string | undefined): Promise<BeatAnswer> {
    const { claimed, heartbeater, times } = this.parts;
    const { runId, taskId, nodeId, attempt, leaseId } = claimed;
    const leaseMs = Math.min(times.leaseDurationMs, LONGEST_LEASE_MS);
    try {
      return heartbeater
        .heartbeat({ runId, taskId, nodeId, attempt, leaseId }, leaseMs, progress)
        .then((verdict) => ({ status: statusOf[verdict], ttlMs: leaseMs }));
    } catch (error) {
      // E12: not the database, but the code that asks it. Whoever cannot keep a lease must not work under it.
      this.parts.logger.error({ ...stepFields(claimed), err: error }, 'the heartbeat of a step is broken');
      return Promise.resolve({ status: 'LOST' });
    }
  }

  private beatFailed(reason: BeatFailureReason, error: unknown): void {
    const fields = stepFields(this.parts.claimed);
    if (reason === 'infra_error') {
      this.parts.logger.warn({ ...fields, err: error }, 'a heartbeat failed; the lease is kept as long as it lasts');
    } else this.parts.logger.info(fields, 'the lease of a step is lost');
    this.parts.onBeatFailure(reason);
  }
}

const NOTHING: Verdict = { kind: 'completed', output: 'null' };

/** What every saga's nodes have as their heartbeat timeout: no lease is longer (R14). */
const LONGEST_LEASE_MS = 3_600_000;

const statusOf = { ok: 'OK', lost: 'LOST', cancelled: 'CANCELLED', retry: 'RETRY' } as const;
