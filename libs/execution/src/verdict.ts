import { MAX_FAILURE_CODE_CHARS, MAX_FAILURE_MESSAGE_CHARS, storable } from '@baton/core';
import { RetryLater, TaskError, type AbortCause } from './errors.js';
import { encodeResult } from './result.js';

/** How an attempt ended, as it is reported; `silent` = nothing to say, the engine decides by itself. */
export type Verdict =
  | { readonly kind: 'completed'; readonly output: string }
  | FailureVerdict
  | { readonly kind: 'deferred'; readonly delayMs: number }
  | { readonly kind: 'released'; readonly notStarted: boolean }
  | { readonly kind: 'silent' };

export interface FailureVerdict {
  readonly kind: 'failed';
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** Where the two ways of running steps differ: what is recorded. */
export interface VerdictRules {
  /** Of something thrown that is no TaskError. */
  untyped(thrown: unknown): { readonly code: string; readonly message: string };
  /** Of a result that is no JSON, or too large. */
  badResult(refusal: { readonly code: string; readonly message: string }): FailureVerdict;
}

/** A result is reported even after an abort: it is fenced, and may still be in time (R14). */
export function verdictOfResult(value: unknown, rules: VerdictRules): Verdict {
  if (isA(value, RetryLater)) return { kind: 'deferred', delayMs: value.delayMs };
  const encoded = encodeResult(value);
  return encoded.ok ? { kind: 'completed', output: encoded.text } : rules.badResult(encoded);
}

/**
 * What user code threw. After an abort an ordinary error most likely *is* the abort: whether the step had its effect
 * is not known, and a definite failure would drop the undo of it (R17, R18). So only NonRetryableError and RetryLater,
 * which are thrown on purpose, count then.
 */
export function verdictOfError(thrown: unknown, aborted: AbortCause | undefined, rules: VerdictRules): Verdict {
  try {
    if (isA(thrown, RetryLater)) return { kind: 'deferred', delayMs: thrown.delayMs };
    if (isA(thrown, TaskError) && (aborted === undefined || !thrown.retryable)) return typed(thrown, rules);
  } catch {
    // Getters that throw, or a proxy that refuses: what cannot be read says nothing.
  }
  switch (aborted) {
    case undefined: {
      // Code that throws an abort of its own making (a deadline of its HTTP client) has failed.
      const { code, message } = rules.untyped(thrown);
      return { kind: 'failed', code, message: storable(message, MAX_FAILURE_MESSAGE_CHARS), retryable: true };
    }
    case 'CANCELLED':
    case 'WORKER_STOPPING':
      return { kind: 'released', notStarted: false };
    case 'LEASE_LOST':
    case 'TIMEOUT':
      return { kind: 'silent' };
  }
}

function typed(thrown: TaskError, rules: VerdictRules): FailureVerdict {
  const code = storable(
    textOf(() => thrown.code),
    MAX_FAILURE_CODE_CHARS,
  );
  const message = storable(
    textOf(() => thrown.message),
    MAX_FAILURE_MESSAGE_CHARS,
  );
  return { kind: 'failed', code: code || rules.untyped(thrown).code, message, retryable: thrown.retryable };
}

/** User code in plain JavaScript gives numbers as codes, objects as messages, and getters that throw. */
export function textOf(read: () => unknown): string {
  try {
    const value = read();
    return typeof value === 'string' ? value : String(value ?? '');
  } catch {
    return '';
  }
}

/** `instanceof` asks the thrown thing for its prototype, and a proxy may refuse. */
function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}
