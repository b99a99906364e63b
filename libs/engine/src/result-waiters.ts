import type { RunStatus } from '@baton/core';
import { isTerminal } from '@baton/core';
import type { RunOutcome } from './api.js';
import type { RunRef, Store } from './ports.js';

interface Waiter extends RunRef {
  readonly until: number;
  readonly resolve: (why: WaitEnd) => void;
}

/** Why a wait is over; an outcome where the end of the run told it. */
export type WaitEnd = RunOutcome | 'ended' | 'time' | 'stopped';

export interface WaiterDeps {
  readonly store: Pick<Store, 'statuses'>;
  readonly now: () => number;
  readonly pollMs: number;
  readonly onStoreError: (error: unknown) => void;
}

/** Finer than this, ends of waits are not told apart: one timer serves them all. */
const finestTickMs = 10;

/**
 * Callers that wait for the end of a run. Commits of this process wake them at once; what other processes commit is
 * found by one shared, slow poll. One timer for all of them, none when nobody waits.
 */
export class ResultWaiters {
  private readonly byRun = new Map<string, Set<Waiter>>();
  private timer: NodeJS.Timeout | null = null;
  private timerAt = 0;
  private nextPollAt = 0;
  private isPolling = false;

  constructor(private readonly deps: WaiterDeps) {}

  wait(ref: RunRef, waitMs: number, signal?: AbortSignal): Promise<WaitEnd> {
    return new Promise((resolve) => {
      const settle = (why: WaitEnd): void => {
        signal?.removeEventListener('abort', onAbort);
        this.remove(waiter);
        resolve(why);
      };
      const onAbort = (): void => settle('stopped');
      const waiter: Waiter = { ...ref, until: this.deps.now() + waitMs, resolve: settle };
      signal?.addEventListener('abort', onAbort, { once: true });
      const waiters = this.byRun.get(ref.runId);
      if (waiters === undefined) this.byRun.set(ref.runId, new Set([waiter]));
      else waiters.add(waiter);
      if (this.timer === null || waiter.until < this.timerAt) this.arm();
    });
  }

  /** After a commit that ended the run. */
  ended(runId: string): void {
    for (const waiter of this.byRun.get(runId) ?? []) waiter.resolve('ended');
  }

  /** The same with what it came to, asked for only if somebody waits. null = not known here. */
  endedWith(ref: RunRef, outcomeOf: () => RunOutcome | null): void {
    const waiters = this.byRun.get(ref.runId);
    if (waiters === undefined) return;
    const outcome = outcomeOf() ?? 'ended';
    // I14: one run id under two namespaces is somebody's guess.
    for (const waiter of waiters) waiter.resolve(waiter.namespace === ref.namespace ? outcome : 'ended');
  }

  close(): void {
    for (const waiters of this.byRun.values()) for (const waiter of waiters) waiter.resolve('stopped');
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private remove(waiter: Waiter): void {
    const waiters = this.byRun.get(waiter.runId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.byRun.delete(waiter.runId);
  }

  private arm(): void {
    if (this.byRun.size === 0 || this.isPolling) return;
    const now = this.deps.now();
    if (this.timer === null && this.nextPollAt < now) this.nextPollAt = now + this.deps.pollMs;
    let next = this.nextPollAt;
    for (const waiters of this.byRun.values()) for (const { until } of waiters) next = Math.min(next, until);
    if (this.timer !== null) clearTimeout(this.timer);
    this.timerAt = next;
    this.timer = setTimeout(() => void this.tick(), Math.max(finestTickMs, next - now));
  }

  private async tick(): Promise<void> {
    this.timer = null;
    const now = this.deps.now();
    for (const waiters of this.byRun.values()) {
      for (const waiter of waiters) if (waiter.until <= now) waiter.resolve('time');
    }
    if (now >= this.nextPollAt && this.byRun.size > 0) await this.poll();
    this.arm();
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    const refs: RunRef[] = [];
    for (const waiters of this.byRun.values())
      for (const { namespace, runId } of waiters) refs.push({ namespace, runId });
    try {
      const statuses: ReadonlyMap<string, RunStatus> = await this.deps.store.statuses(refs);
      for (const [runId, status] of statuses) if (isTerminal(status)) this.ended(runId);
    } catch (error) {
      this.deps.onStoreError(error);
    }
    this.nextPollAt = this.deps.now() + this.deps.pollMs;
    this.isPolling = false;
  }
}
