import { advance, successorsOf } from './advance.js';
import { endForward } from './end-forward.js';
import { finishSucceeded, isForwardComplete } from './finish.js';
import type { Transition } from './transition.js';

/** Goes on after these nodes settled: starts what is below them, then ends the run if nothing is left to do. */
export function goOnBelow(t: Transition, settled: readonly string[]): void {
  advance(t, successorsOf(t, settled));
  conclude(t);
}

/** Last word of every forward decision: a failure ends the forward phase, completeness ends the run. */
export function conclude(t: Transition): void {
  if (t.failure === undefined && isForwardComplete(t)) t.failure = finishSucceeded(t);
  if (t.failure !== undefined) endForward(t, { cause: 'failure', failure: t.failure, undo: true });
}
