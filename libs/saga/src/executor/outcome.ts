import { storable, utf8Length, type Failure } from '@baton/core';
import type { AbortCause, Verdict, VerdictRules } from '@baton/execution';
import type { StepResult } from './types.js';

/** C21: a recorded message has at most so many bytes. */
export const MAX_REASON_BYTES = 256;
export const STEP_FAILED = 'STEP_FAILED';
export const OUTPUT_INVALID = 'OUTPUT_INVALID';
export const TIMEOUT = 'TIMEOUT';

/**
 * What is recorded of a step (C21, E8). Messages of TaskErrors are written for the record; anything else may hold
 * details of this service's inside, so only the fact is recorded and the rest stays in its own log.
 */
export const sagaRules: VerdictRules = {
  untyped: () => ({
    code: STEP_FAILED,
    message: 'the step threw something that is not a TaskError: see the log of the process that ran it',
  }),
  // W8: the same step would most likely return the same thing again, after the same side effect.
  badResult: ({ code }) => ({
    kind: 'failed',
    code: OUTPUT_INVALID,
    message: `the output of the step cannot be kept (${code}): see the log of the process that ran it`,
    retryable: false,
  }),
};

/** Why user code ended as it did, next to what it said. */
export interface Ending {
  readonly verdict: Verdict;
  readonly aborted: AbortCause | undefined;
  /** The lease is known to be somebody else's: not only given up by the own clock. */
  readonly wasDenied: boolean;
  readonly nodeId: string;
}

/**
 * The verdict under the cause of the abort. E5: a timeout stays a timeout, whatever came after it, but for a failure that
 * the step says is definite. A result after the own clock gave the lease up may still be in time, and is fenced (R14).
 */
export function resultOf(ending: Ending): StepResult {
  const { verdict, aborted, wasDenied, nodeId } = ending;
  if (wasDenied) return { outcome: 'lease_lost' };
  if (aborted === 'TIMEOUT' && !isDefiniteFailure(verdict)) return expired(nodeId);
  switch (verdict.kind) {
    case 'completed':
      return { outcome: 'succeeded', output: verdict.output };
    case 'failed':
      return {
        outcome: 'failed',
        failure: failure(verdict.code, verdict.message, nodeId),
        retryable: verdict.retryable,
      };
    case 'deferred':
      return { outcome: 'canceled', reason: 'deferred', delayMs: verdict.delayMs };
    case 'released':
      return interrupted(aborted, !verdict.notStarted, nodeId);
    case 'silent':
      return { outcome: 'lease_lost' };
  }
}

function isDefiniteFailure(verdict: Verdict): boolean {
  return verdict.kind === 'failed' && verdict.code !== OUTPUT_INVALID;
}

/** What an attempt came to whose user code said nothing: it was given up, or never began. */
export function interrupted(cause: AbortCause | undefined, started: boolean, nodeId: string): StepResult {
  switch (cause) {
    case 'LEASE_LOST':
      return { outcome: 'lease_lost' };
    case 'TIMEOUT':
      return expired(nodeId);
    case 'CANCELLED':
      return { outcome: 'canceled', reason: 'cancelled', started };
    case 'WORKER_STOPPING':
    case undefined:
      return { outcome: 'canceled', reason: 'stopping', started };
  }
}

function expired(nodeId: string): StepResult {
  return { outcome: 'expired', failure: failure(TIMEOUT, 'the step took longer than its timeout', nodeId) };
}

function failure(code: string, message: string, nodeId: string): Failure {
  return { code, message: cutBytes(message, MAX_REASON_BYTES), nodeId };
}

/** Cut at a whole character. */
export function cutBytes(text: string, maxBytes: number): string {
  let cut = text.slice(0, maxBytes);
  while (utf8Length(cut) > maxBytes || HALF_CHARACTER.test(cut)) cut = cut.slice(0, -1);
  return storable(cut, maxBytes);
}

const HALF_CHARACTER = /[\uD800-\uDBFF]$/;
