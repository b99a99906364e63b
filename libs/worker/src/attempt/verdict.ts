import { MAX_FAILURE_CODE_CHARS, MAX_FAILURE_MESSAGE_CHARS, storable } from '@baton/wire';
import { AttemptAborted, RetryLater, TaskError, type AbortCause } from '../errors.js';
import { encodeResult } from '../result.js';

/** How an attempt ended, as it is reported; `silent` = nothing to say, the engine decides by itself. */
export type Verdict =
  | { readonly kind: 'completed'; readonly output: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly retryable: boolean }
  | { readonly kind: 'deferred'; readonly delayMs: number }
  | { readonly kind: 'released'; readonly notStarted: boolean }
  | { readonly kind: 'silent' };

export const TASK_FAILED = 'TASK_FAILED';

/** A result is reported even after an abort: it is fenced, and may still be in time (R14). */
export function verdictOfResult(value: unknown): Verdict {
  if (value instanceof RetryLater) return { kind: 'deferred', delayMs: value.delayMs };
  const encoded = encodeResult(value);
  if (encoded.ok) return { kind: 'completed', output: encoded.text };
  return { kind: 'failed', code: encoded.code, message: encoded.message, retryable: true };
}

/**
 * What a handler threw. After an abort an ordinary error most likely *is* the abort: whether the step had its effect
 * is not known, and a definite failure would drop the undo of it (R17, R18). So only NonRetryableError and RetryLater,
 * which a handler throws on purpose, count then.
 */
export function verdictOfError(thrown: unknown, aborted: AbortCause | undefined): Verdict {
  if (thrown instanceof RetryLater) return { kind: 'deferred', delayMs: thrown.delayMs };
  if (thrown instanceof TaskError && (aborted === undefined || !thrown.retryable)) {
    return failed(thrown.code, thrown.message, thrown.retryable);
  }
  switch (aborted) {
    case undefined:
      // A handler that throws an abort of its own making (a deadline of its HTTP client) has failed.
      return failed(TASK_FAILED, describe(thrown), true);
    case 'CANCELLED':
    case 'WORKER_STOPPING':
      return { kind: 'released', notStarted: false };
    case 'LEASE_LOST':
    case 'TIMEOUT':
      return { kind: 'silent' };
  }
}

function failed(code: string, message: string, retryable: boolean): Verdict {
  return {
    kind: 'failed',
    code: storable(textOf(code), MAX_FAILURE_CODE_CHARS) || TASK_FAILED,
    message: storable(textOf(message), MAX_FAILURE_MESSAGE_CHARS),
    retryable,
  };
}

/** Handlers in plain JavaScript give numbers as codes and objects as messages. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return String(value ?? '');
  } catch {
    return '';
  }
}

/** Anything can be thrown: strings, undefined, objects whose toString throws. */
function describe(thrown: unknown): string {
  if (thrown instanceof AttemptAborted) return thrown.message;
  if (thrown instanceof Error) return thrown.message || thrown.name;
  if (typeof thrown === 'string') return thrown || 'the handler threw an empty string';
  try {
    return `the handler threw ${JSON.stringify(thrown) ?? String(thrown)}`;
  } catch {
    return `the handler threw a ${typeof thrown}`;
  }
}
