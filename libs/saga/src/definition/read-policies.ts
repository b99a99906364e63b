import { parseDuration } from '@baton/core';
import type { FaultList, Path } from './faults.js';

/** A policy as it was written, in milliseconds. undefined = not said here. */
export interface WrittenRetry {
  readonly maxAttempts: number | undefined;
  readonly baseMs: number | undefined;
  readonly maxMs: number | undefined;
  readonly nonRetryable: readonly string[] | undefined;
}

/** All of it decided. */
export interface RetrySettings {
  readonly maxAttempts: number;
  readonly baseMs: number;
  readonly maxMs: number;
  readonly nonRetryable: readonly string[];
}

/** E15: one attempt, 100 ms, 30 s. A step that took too long is not run again (E5). */
export const DEFAULT_RETRY: RetrySettings = { maxAttempts: 1, baseMs: 100, maxMs: 30_000, nonRetryable: ['TIMEOUT'] };
/** W5: nobody else will do the undo, and it is idempotent, so it is tried longer, after timeouts too. */
export const DEFAULT_UNDO_RETRY: RetrySettings = { maxAttempts: 10, baseMs: 1_000, maxMs: 60_000, nonRetryable: [] };

/** Bounds of a Baton definition. */
const MAX_ATTEMPTS = 1_000_000;
const MAX_CODES = 100;
const MAX_CODE_LENGTH = 128;
export const LONGEST_MS = 100 * 365 * 24 * 3_600_000;

const NOTHING: WrittenRetry = { maxAttempts: undefined, baseMs: undefined, maxMs: undefined, nonRetryable: undefined };
const FIELDS = ['maxAttempts', 'baseInterval', 'maxInterval', 'nonRetryable'];

export function readRetry(value: unknown, path: Path, faults: FaultList): WrittenRetry {
  if (value === undefined) return NOTHING;
  if (!isRecord(value)) {
    faults.add('WRONG_TYPE', path, 'expected a retry policy: { maxAttempts, baseInterval, maxInterval, nonRetryable }');
    return NOTHING;
  }
  refuseOthers(value, FIELDS, path, faults);
  const written = {
    maxAttempts: readAttempts(value['maxAttempts'], [...path, 'maxAttempts'], faults),
    baseMs: readDuration(value['baseInterval'], [...path, 'baseInterval'], 0, faults),
    maxMs: readDuration(value['maxInterval'], [...path, 'maxInterval'], 0, faults),
    nonRetryable: readCodes(value['nonRetryable'], [...path, 'nonRetryable'], faults),
  };
  const { baseMs, maxMs } = written;
  if (baseMs !== undefined && maxMs !== undefined && maxMs < baseMs) {
    faults.add('INTERVALS_INVERTED', [...path, 'maxInterval'], 'shorter than baseInterval');
  }
  return written;
}

/** Field by field, the nearer policy first. A first wait above the default maximum raises it; above a written one it is a fault. */
export function settleRetry(
  nearer: WrittenRetry,
  farther: WrittenRetry,
  defaults: RetrySettings,
): RetrySettings & { readonly isInverted: boolean } {
  const baseMs = nearer.baseMs ?? farther.baseMs ?? defaults.baseMs;
  const writtenMaxMs = nearer.maxMs ?? farther.maxMs;
  const isBaseWritten = (nearer.baseMs ?? farther.baseMs) !== undefined;
  return {
    maxAttempts: nearer.maxAttempts ?? farther.maxAttempts ?? defaults.maxAttempts,
    // A maximum below the default first wait shortens that: the author has spoken of the maximum alone.
    baseMs: isBaseWritten ? baseMs : Math.min(baseMs, writtenMaxMs ?? baseMs),
    maxMs: writtenMaxMs ?? Math.max(defaults.maxMs, baseMs),
    nonRetryable: nearer.nonRetryable ?? farther.nonRetryable ?? defaults.nonRetryable,
    isInverted: isBaseWritten && writtenMaxMs !== undefined && writtenMaxMs < baseMs,
  };
}

/** Milliseconds; undefined = absent, or not a duration (then it is among the faults). */
export function readDuration(value: unknown, path: Path, minMs: number, faults: FaultList): number | undefined {
  if (value === undefined) return undefined;
  const ms = typeof value === 'string' ? readIso(value, path, faults) : readMs(value, path, faults);
  if (ms === undefined) return undefined;
  if (ms >= minMs && ms <= LONGEST_MS) return ms;
  const low = minMs === 0 ? 'negative' : `less than ${minMs} ms (leave it out for none)`;
  faults.add('OUT_OF_RANGE', path, ms < minMs ? low : 'longer than 100 years');
  return undefined;
}

function readIso(text: string, path: Path, faults: FaultList): number | undefined {
  const parsed = parseDuration(text);
  if (parsed.ok) return parsed.ms;
  faults.add(parsed.code, path, parsed.message);
  return undefined;
}

function readMs(value: unknown, path: Path, faults: FaultList): number | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  const isNumber = typeof value === 'number';
  const message = `${isNumber ? `${value} is not` : 'expected'} a whole number of milliseconds or a duration such as PT30S`;
  faults.add(isNumber ? 'OUT_OF_RANGE' : 'WRONG_TYPE', path, message);
  return undefined;
}

function readAttempts(value: unknown, path: Path, faults: FaultList): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= MAX_ATTEMPTS) return value;
  faults.add('OUT_OF_RANGE', path, `expected a whole number from 1 to ${MAX_ATTEMPTS}: it counts the first try`);
  return undefined;
}

function readCodes(value: unknown, path: Path, faults: FaultList): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const isCode = (code: unknown) => typeof code === 'string' && code.length > 0 && code.length <= MAX_CODE_LENGTH;
  if (Array.isArray(value) && value.length <= MAX_CODES && value.every(isCode)) return value as string[];
  faults.add('OUT_OF_RANGE', path, `expected at most ${MAX_CODES} codes of 1 to ${MAX_CODE_LENGTH} characters`);
  return undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A misspelt option would be an option that does nothing. undefined = not there. */
export function refuseOthers(value: object, known: readonly string[], path: Path, faults: FaultList): void {
  for (const [field, member] of Object.entries(value)) {
    if (known.includes(field) || member === undefined) continue;
    faults.add('UNKNOWN_FIELD', [...path, field], `there is no ${field}; known are ${known.join(', ')}`);
  }
}
