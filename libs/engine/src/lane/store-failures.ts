import { EngineError } from '../api.js';
import type { EngineHooks, EngineLimits } from '../options.js';
import { FenceMissError, StoreError, type RunRef, type Store } from '../ports.js';

export type FailureKind = StoreError['kind'] | 'fence-miss';

/** R8: only what the store calls `data` can condemn what a caller sent; what nobody foresaw is UNAVAILABLE and alarms. */
export function kindOf(error: unknown): FailureKind {
  if (error instanceof FenceMissError) return 'fence-miss';
  return error instanceof StoreError ? error.kind : 'unavailable';
}

/** lock_timeout passed: a lock that is held for so long is not a matter of trying again at once. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof StoreError && error.sqlState === '55P03';
}

export function isDuplicateRow(error: unknown): boolean {
  return error instanceof StoreError && error.sqlState === '23505';
}

export function unavailable(cause: unknown): EngineError {
  return new EngineError('unavailable', 'STORE_UNAVAILABLE', 'the database does not answer; try again', { cause });
}

export interface FailureDeps {
  readonly store: Pick<Store, 'committedRuns'>;
  readonly limits: Pick<EngineLimits, 'transientRepeats' | 'transientPauseMs' | 'unknownCommitMs'>;
  readonly hooks: EngineHooks;
  readonly random: () => number;
  readonly now: () => number;
}

/** How a lane waits and asks after the database has failed it. Two lanes never wait in step: pauses have jitter. */
export class StoreFailures {
  constructor(private readonly deps: FailureDeps) {}

  tell(error: unknown): FailureKind {
    const kind = kindOf(error);
    tellSafely(() => this.deps.hooks.onStoreError?.({ kind, error }));
    return kind;
  }

  mayRepeat(repeats: number): boolean {
    return repeats < this.deps.limits.transientRepeats;
  }

  pause(repeats: number): Promise<void> {
    const longest = Math.min(this.deps.limits.transientPauseMs * 2 ** repeats, 2_000);
    return new Promise((resolve) => setTimeout(resolve, longest * (0.5 + 0.5 * this.deps.random())));
  }

  /** R6: which runs of a batch whose COMMIT got no answer are durable. Asks until the database can say. */
  async committed(batchId: string, refs: readonly RunRef[]): Promise<ReadonlySet<string>> {
    const until = this.deps.now() + this.deps.limits.unknownCommitMs;
    for (let repeats = 0; ; repeats += 1) {
      try {
        return await this.deps.store.committedRuns(batchId, refs);
      } catch (error) {
        this.tell(error);
        if (this.deps.now() > until)
          throw new StoreError('unavailable', 'the outcome of a commit is not known', undefined, { cause: error });
        await this.pause(repeats);
      }
    }
  }
}

/** I13: a hook that throws must not break what has been committed. */
export function tellSafely(tell: () => void): void {
  try {
    tell();
  } catch {
    // Nobody to tell: the hook itself is the way to tell.
  }
}
