import type { IssueList } from './issues.js';
import type { ObjectReader } from './reader.js';
import type { RetryPolicy, TimeoutPolicy } from './model.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The defaults of the reference. An undo is tried longer: nobody else will do it. */
export const DEFAULT_MAX_ATTEMPTS = 3;
export const DEFAULT_UNDO_MAX_ATTEMPTS = 10;

const DEFAULT_RETRY: Omit<RetryPolicy, 'maxAttempts'> = {
  initialIntervalMs: SECOND_MS,
  backoff: 2,
  maxIntervalMs: MINUTE_MS,
  jitter: 0.2,
  nonRetryable: [],
};

const DEFAULT_TIMEOUTS: TimeoutPolicy = {
  scheduleToStartMs: null,
  startToCloseMs: HOUR_MS,
  heartbeatMs: 30 * SECOND_MS,
  scheduleToCloseMs: null,
};

/** Bounds that are documented; beyond them is an error, never a silent cap (B32). */
const MAX_ATTEMPTS = 1_000_000;
const MAX_BACKOFF = 100;
const MAX_CODES = 100;
const MAX_CODE_LENGTH = 128;

export function readRetry(owner: ObjectReader, defaultMaxAttempts: number, issues: IssueList): RetryPolicy {
  const retry = owner.object('retry');
  if (retry === undefined) return { ...DEFAULT_RETRY, maxAttempts: defaultMaxAttempts };
  const maxAttempts = retry.integer('maxAttempts', { min: 1, max: MAX_ATTEMPTS });
  // Zero is a choice here: the next attempt at once.
  const initialIntervalMs = retry.duration('initialInterval', 0) ?? DEFAULT_RETRY.initialIntervalMs;
  const maxIntervalMs = retry.duration('maxInterval', 0);
  const policy: RetryPolicy = {
    maxAttempts: maxAttempts ?? defaultMaxAttempts,
    initialIntervalMs,
    backoff: retry.decimal('backoff', { min: 1, max: MAX_BACKOFF }) ?? DEFAULT_RETRY.backoff,
    // An initial interval above the default maximum raises it: only a given maximum can contradict it.
    maxIntervalMs: maxIntervalMs ?? Math.max(DEFAULT_RETRY.maxIntervalMs, initialIntervalMs),
    jitter: retry.decimal('jitter', { min: 0, max: 1 }) ?? DEFAULT_RETRY.jitter,
    nonRetryable: readCodes(retry, issues),
  };
  if (maxIntervalMs !== undefined && maxIntervalMs < initialIntervalMs) {
    issues.error('OUT_OF_RANGE', retry.pathOf('maxInterval'), 'shorter than initialInterval');
  }
  retry.refuseOthers();
  return policy;
}

function readCodes(retry: ObjectReader, issues: IssueList): readonly string[] {
  const codes = retry.strings('nonRetryable') ?? [];
  if (codes.length > MAX_CODES || codes.some((code) => code.length === 0 || code.length > MAX_CODE_LENGTH)) {
    const message = `at most ${MAX_CODES} codes of 1 to ${MAX_CODE_LENGTH} characters`;
    issues.error('OUT_OF_RANGE', retry.pathOf('nonRetryable'), message);
  }
  return codes;
}

export function readTimeouts(owner: ObjectReader): TimeoutPolicy {
  const timeouts = owner.object('timeouts');
  if (timeouts === undefined) return DEFAULT_TIMEOUTS;
  const policy: TimeoutPolicy = {
    scheduleToStartMs: timeouts.duration('scheduleToStart', 1) ?? null,
    startToCloseMs: timeouts.duration('startToClose', 1) ?? DEFAULT_TIMEOUTS.startToCloseMs,
    // Heartbeats come several times in this time, over the network.
    heartbeatMs: timeouts.duration('heartbeat', SECOND_MS) ?? DEFAULT_TIMEOUTS.heartbeatMs,
    scheduleToCloseMs: timeouts.duration('scheduleToClose', 1) ?? null,
  };
  timeouts.refuseOthers();
  return policy;
}
