export { systemClock, type Clock } from './clock.js';
export { type AbortCause, AttemptAborted, NonRetryableError, RetryLater, retryLater, TaskError } from './errors.js';
export { lazily } from './lazily.js';
export {
  LeaseKeeper,
  type BeatAnswer,
  type BeatFailureReason,
  type KeptLease,
  type LeaseKeeperParts,
} from './lease-keeper.js';
export { encodeProgress } from './progress.js';
export { encodeResult, RawJson, rawJson, type EncodedResult } from './result.js';
export { after, backoffMs } from './timers.js';
export {
  textOf,
  verdictOfError,
  verdictOfResult,
  type FailureVerdict,
  type Verdict,
  type VerdictRules,
} from './verdict.js';
