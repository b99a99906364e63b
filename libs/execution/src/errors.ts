/** A failure with a stable code, retried by the node's policy unless the code is in its `nonRetryable` list. */
export class TaskError extends Error {
  readonly retryable: boolean = true;

  constructor(
    readonly code: string,
    message: string = code,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'TaskError';
  }
}

/** A failure that no retry can repair: the node fails at once, whatever its policy says. */
export class NonRetryableError extends TaskError {
  override readonly retryable = false;

  constructor(code: string, message?: string, options?: { cause?: unknown }) {
    super(code, message, options);
    this.name = 'NonRetryableError';
  }
}

/** Not a failure: the attempt ends and the next one comes after `delayMs`. Counts against nothing (R11). */
export class RetryLater extends Error {
  constructor(readonly delayMs: number) {
    super(`try again in ${delayMs} ms`);
    this.name = 'RetryLater';
  }
}

/** As for every duration of a definition. A report could not hold much more. */
const MAX_DELAY_MS = 36_500 * 86_400_000;

/** `throw retryLater(5_000)` (or return it): not now, no failure. */
export function retryLater(delayMs: number): RetryLater {
  if (!(delayMs >= 0 && delayMs <= MAX_DELAY_MS)) {
    throw new RangeError(`retryLater needs a time from 0 to 100 years in ms: ${delayMs}`);
  }
  return new RetryLater(Math.ceil(delayMs));
}

/**
 * Why an attempt was aborted; the reason of its AbortSignal.
 * LEASE_LOST:      somebody else may run the step now. Stop; the result will most likely not be taken.
 * CANCELLED:       the run no longer wants the step. Stop soon; what was done is undone if the node has an undo.
 * TIMEOUT:         the attempt's startToClose has passed.
 * WORKER_STOPPING: the worker's time to stop is over; the attempt is given back.
 */
export type AbortCause = 'LEASE_LOST' | 'CANCELLED' | 'TIMEOUT' | 'WORKER_STOPPING';

const texts: Readonly<Record<AbortCause, string>> = {
  LEASE_LOST: 'the lease of this attempt is lost',
  CANCELLED: 'the run no longer wants this step',
  TIMEOUT: 'the attempt took longer than its startToClose',
  WORKER_STOPPING: 'the worker is stopping',
};

export class AttemptAborted extends Error {
  constructor(readonly code: AbortCause) {
    super(texts[code]);
    this.name = 'AttemptAborted';
  }
}
