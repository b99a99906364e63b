import type { Dag, Decision, Refusal, RunEvent, RunState } from '@baton/core';
import type { EngineError, LeasedTask, LeaseWish } from '../api.js';
import type { RunRef } from '../ports.js';

/** A run as one event finds it: its state, and the lease that it is compared with (R9). */
export interface SeenRun {
  readonly state: RunState;
  /** null = the row has none; undefined = not known without a fresh read. */
  leaseIdOf(taskId: string): string | null | undefined;
}

/** What a work does with the run that it finds. */
export type Choice =
  | {
      readonly kind: 'event';
      readonly event: RunEvent;
      /** Default: the version that the run is pinned to. */
      readonly version?: number | 'deployed';
    }
  /** Nothing to decide: answered as if `decide` had ignored it. */
  | { readonly kind: 'ignored'; readonly decision: Extract<Decision, { kind: 'ignored' }> }
  /** Cannot tell on a cached state. */
  | { readonly kind: 'reread' };

/** How one event ended. `state` is the run after it. */
export type Outcome =
  | {
      readonly kind: 'applied';
      readonly decision: Extract<Decision, { kind: 'applied' }>;
      /** What the commit leased, as the work wished. */
      readonly leased: readonly LeasedTask[];
    }
  | { readonly kind: 'ignored'; readonly decision: Extract<Decision, { kind: 'ignored' }> }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly state: RunState }
  | { readonly kind: 'missing' }
  /** R24: this command id had its effect already, or was used for something else. */
  | { readonly kind: 'known-command'; readonly sameRequest: boolean; readonly state: RunState }
  | { readonly kind: 'failed'; readonly error: EngineError };

/** A command's id, kept with its effect (R24). */
export interface CommandStamp {
  readonly commandId: string;
  readonly requestHash: string;
}

/**
 * One event on its way through its run's lane. The lane owns `misses` and `dataErrors`; everything else is the use
 * case's. `settle` is called exactly once: after the commit, or when there is nothing to commit.
 */
export interface Work extends RunRef {
  /** Payload text it carries (R5). */
  readonly size: number;
  /** R9: asks for leases for sure (or locks a key), so an unlocked read would be thrown away. */
  readonly way: 'optimistic' | 'lock-first';
  /** R24: lock the run's business key before the run. */
  readonly keysFirst: boolean;
  readonly command: CommandStamp | null;
  /** Takes what the event dispatches. Default: nothing. */
  readonly wish?: LeaseWish;
  choose(seen: SeenRun): Choice;
  /** Once the version is known, before `decide`: may this event be applied to it? */
  check?(dag: Dag): EngineError | null;
  settle(outcome: Outcome): void;
  /** R8: its content cannot be stored. again = it has changed itself into something that can be. */
  becomeRejection?(reason: string): 'again' | 'refused' | 'stuck';
  misses: number;
  dataErrors: number;
}

/** Works of one run, in order of arrival (R4). */
export interface RunQueue extends RunRef {
  readonly works: readonly Work[];
}

/** By run, runs in order of their first work. */
export function groupByRun(works: readonly Work[]): RunQueue[] {
  const byRun = new Map<string, Work[]>();
  for (const work of works) {
    // The namespace is part of the address (R28): another tenant's guess is not in this run's queue.
    const key = `${work.runId}/${work.namespace}`;
    const queue = byRun.get(key);
    if (queue === undefined) byRun.set(key, [work]);
    else queue.push(work);
  }
  return [...byRun.values()].map((queue) => queueOf(queue));
}

export function queueOf(works: readonly Work[]): RunQueue {
  const first = works[0];
  if (first === undefined) throw new Error('a queue without works');
  return { namespace: first.namespace, runId: first.runId, works };
}
