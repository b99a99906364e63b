import { SagaError } from '../journal/errors.js';
import { nameOf } from '../observe/guard-observer.js';
import type { LeaderSkipReason, SagaLogger, SagaObserver } from '../observe/observer.js';
import { lockKey } from './lock-key.js';
import type { HeldLock, Locker } from './locker.js';

export interface LedRun {
  readonly runId: string;
  readonly sagaId: string;
}

/** The right to drive one run. Both ends are safe to call more than once, and never reject. */
export interface RunLead {
  release(): Promise<void>;
  /** Without I/O: the lock dies with its time to live. */
  orphan(): void;
}

export interface LeaderGateParts {
  /** undefined = nobody is asked: leases alone keep order. */
  readonly locker: Locker | undefined;
  /** Time to live of a lock: as long as a lease. Milliseconds. */
  readonly ttlMs: number;
  readonly logger: SagaLogger;
  readonly observer?: Pick<SagaObserver, 'leaderSkip'>;
  /** The runtime is stopping: what fails now is nobody's fault. */
  readonly isStopping?: () => boolean;
}

/**
 * Whether this process drives a run now. An efficiency lock: it keeps two processes from doing the same work, and when it
 * fails, or is lost under a drive, leases alone keep order (R9). So a backend that cannot answer means "not now", never
 * "drive on anyway".
 */
export class RunLeaderGate {
  constructor(private readonly parts: LeaderGateParts) {
    const given: unknown = parts.locker;
    if (given === null || (given !== undefined && typeof (given as Locker).acquire !== 'function')) {
      throw new SagaError('invalid', 'PART_MISSING', 'leaderElect must be a locker');
    }
    if (given !== undefined && !(parts.ttlMs >= 1)) {
      throw new SagaError('invalid', 'LOCK_TTL_TOO_SHORT', 'leaderElect needs a lease of at least 1 ms');
    }
  }

  get mode(): 'leader_elect' | 'unsafe_no_leader' {
    return this.parts.locker === undefined ? 'unsafe_no_leader' : 'leader_elect';
  }

  /** Without waiting; null = not now, and observer and log were told why. Never rejects. */
  async acquireLead(run: LedRun): Promise<RunLead | null> {
    const { locker, ttlMs } = this.parts;
    if (locker === undefined) return ALWAYS;
    try {
      const lock = await locker.acquire(lockKey(run), ttlMs);
      if (lock !== null) return this.leadOf(run, lock);
      this.skip(run, 'contended');
    } catch (error) {
      this.skip(run, this.parts.isStopping?.() === true ? 'ctx_canceled' : 'backend_error', error);
    }
    return null;
  }

  private leadOf(run: LedRun, lock: HeldLock): RunLead {
    return {
      release: async () => {
        try {
          await lock.release();
        } catch (error) {
          const fields = { run_id: run.runId, saga_id: run.sagaId, error: nameOf(error) };
          this.parts.logger.warn(fields, 'the lock of a run was not released; it ends with its time to live');
        }
      },
      orphan: () => lock.orphan(),
    };
  }

  /** L5: one classification for log and metric. Somebody else at work is the normal case; a broken backend is not. */
  private skip(run: LedRun, reason: LeaderSkipReason, error?: unknown): void {
    const fields = { run_id: run.runId, saga_id: run.sagaId, reason };
    const { logger, observer } = this.parts;
    if (reason === 'backend_error') {
      logger.warn({ ...fields, error: nameOf(error) }, 'a run is left to others: nobody can say who has its lock');
    } else logger.debug(fields, 'a run is left to others');
    void observer?.leaderSkip?.({ ...run, reason });
  }
}

const ALWAYS: RunLead = { release: () => Promise.resolve(), orphan: () => undefined };
