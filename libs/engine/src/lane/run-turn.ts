import type { Needs, RunState } from '@baton/core';
import { RunFacts } from '../fold/overlay.js';
import { RunFold, type FoldEnv } from '../fold/run-fold.js';
import type { CachedRun, RunCache } from '../caches/run-cache.js';
import type { KeyHolder, StoredCommand, StoredRun } from '../ports.js';
import type { Outcome, RunQueue, SeenRun, Work } from './work.js';

/** Why the rest of a run's works is not decided in this turn. */
export type LeftReason =
  /** Asks for leases: lock first (R9). */
  | 'lock'
  /** One row cannot hold the net effect, or the batch is full: next batch (R2, R5). */
  | 'later'
  /** Commits nothing and was decided on a cached state: read and decide again. */
  | 'reread';

interface TurnOrigin {
  /** Leases as they were read; empty for a cached run. */
  readonly leaseIds: ReadonlyMap<string, string>;
  readonly traceparent: string | null;
  readonly isFresh: boolean;
  readonly isLocked: boolean;
}

/** One run's part in one batch: what was read, what its events decided so far, what is left. */
export class RunTurn {
  readonly facts = new RunFacts();
  readonly fold: RunFold | null;
  readonly outcomes: { readonly work: Work; readonly outcome: Outcome }[] = [];
  readonly commands = new Map<string, StoredCommand | undefined>();
  /** undefined = not asked yet; null = nothing is deployed. */
  deployed: number | null | undefined;
  /** R24: who holds the run's business key instead of it; only known where keys were locked first. */
  keyHolder: KeyHolder | undefined;
  /** What the current work's decision has asked for so far. */
  asked: Needs | undefined;
  /** Index of the work that is decided next. */
  next = 0;
  /** `needs` rounds of that work. */
  rounds = 0;
  left: LeftReason | null = null;
  stuckReason: string | null = null;

  private constructor(
    readonly queue: RunQueue,
    readonly seen: SeenRun | null,
    private readonly origin: TurnOrigin,
    env: FoldEnv,
  ) {
    this.fold = seen === null ? null : new RunFold(seen.state, origin.traceparent, env);
  }

  static ofStored(queue: RunQueue, stored: StoredRun | undefined, isLocked: boolean, env: FoldEnv): RunTurn {
    if (stored === undefined || stored.state.namespace !== queue.namespace) {
      // R28: a mismatch of the namespace is NOT_FOUND.
      return new RunTurn(queue, null, { traceparent: null, leaseIds: new Map(), isFresh: true, isLocked }, env);
    }
    const { state, leaseIds, traceparent } = stored;
    const seen = { state, leaseIdOf: (taskId: string) => leaseIds.get(taskId) ?? null };
    return new RunTurn(queue, seen, { traceparent, leaseIds, isFresh: true, isLocked }, env);
  }

  static ofCached(queue: RunQueue, cached: CachedRun, cache: RunCache, env: FoldEnv): RunTurn {
    const { state, traceparent } = cached;
    const leaseIdOf = (taskId: string): string | undefined =>
      cache.leaseOf(state.runId, taskId, state.tasks.get(taskId)?.attempt ?? 0);
    const origin = { traceparent, leaseIds: new Map<string, string>(), isFresh: false, isLocked: false };
    const turn = new RunTurn(queue, { state, leaseIdOf }, origin, env);
    turn.facts.preset(cached.input, cached.payloads);
    return turn;
  }

  get traceparent(): string | null {
    return this.origin.traceparent;
  }

  get leaseIds(): ReadonlyMap<string, string> {
    return this.origin.leaseIds;
  }

  /** Read from the database in this batch, not from the cache. */
  get isFresh(): boolean {
    return this.origin.isFresh;
  }

  get isLocked(): boolean {
    return this.origin.isLocked;
  }

  /** The work to decide now; undefined when the turn is over. */
  get current(): Work | undefined {
    return this.left === null ? this.queue.works[this.next] : undefined;
  }

  get remaining(): readonly Work[] {
    return this.queue.works.slice(this.next);
  }

  get hasWrite(): boolean {
    return this.fold !== null && !this.fold.isEmpty;
  }

  /** The run as the next event of this batch finds it. */
  seenNow(): SeenRun | null {
    const { seen, fold } = this;
    if (seen === null || fold === null || fold.state === seen.state) return seen;
    const state: RunState = fold.state;
    return {
      state,
      leaseIdOf: (taskId) => {
        // An attempt that began in this batch has no lease yet; others have what they had.
        const pending = fold.tasks.pending(taskId);
        if (pending?.wake.kind === 'dispatch') return pending.wake.lease?.leaseId ?? null;
        return pending?.op === 'insert' ? null : seen.leaseIdOf(taskId);
      },
    };
  }

  conclude(outcome: Outcome): void {
    const work = this.queue.works[this.next];
    if (work === undefined) throw new Error('no work to conclude');
    this.outcomes.push({ work, outcome });
    this.next += 1;
    this.rounds = 0;
    this.asked = undefined;
  }

  /** Stops here: this work and all after it, in order (R4). */
  leave(reason: LeftReason): void {
    this.left = reason;
  }
}
