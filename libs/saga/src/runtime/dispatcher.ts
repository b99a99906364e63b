import type { ClaimedStep, TakeNext } from '../journal/ports.js';

/** A slot held for the first step of a run that is about to be started. Exactly one `settle` belongs to it. */
export interface StartSlot {
  /** What the start asks of the journal, so that run and first lease are one commit. */
  readonly take: TakeNext;
  /** With what the commit took; with nothing when there was none, or it failed. */
  settle(claimed: readonly ClaimedStep[]): void;
}

/**
 * Between those who make steps claimable and those who run them, in one process. Only ever called after a commit (I13),
 * or for a commit that is about to be made; without I/O, and it never throws.
 */
export interface Dispatcher {
  /** Claimable steps or events were committed: claimers of this process look at once, and the relay is told. */
  kick(): void;
  /** null = no free slot here, or locks come before leases: whoever polls next takes the step. */
  reserve(): StartSlot | null;
}

/** Who carries events on, where somebody does: a relay, a polling subscriber. */
export interface RelayHook {
  kick(): void;
}
