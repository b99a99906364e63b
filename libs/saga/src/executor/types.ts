import type { Failure, JsonText } from '@baton/core';

/** What one attempt of a step came to. The executor reports facts; it decides nothing and writes nothing. */
export type StepOutcome = 'succeeded' | 'failed' | 'expired' | 'canceled' | 'lease_lost';

export type StepResult =
  | { readonly outcome: 'succeeded'; readonly output: JsonText }
  | { readonly outcome: 'failed'; readonly failure: Failure; readonly retryable: boolean }
  /** The step's own timeout passed. */
  | { readonly outcome: 'expired'; readonly failure: Failure }
  /** Not a failure: the step asked for a later try. */
  | { readonly outcome: 'canceled'; readonly reason: 'deferred'; readonly delayMs: number }
  /** Interrupted: the run no longer wants it, or the process stops. */
  | { readonly outcome: 'canceled'; readonly reason: 'cancelled' | 'stopping'; readonly started: boolean }
  /** Nothing may be reported. */
  | { readonly outcome: 'lease_lost' };

export type { Clock } from '@baton/execution';
