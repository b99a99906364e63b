import type { JsonText } from '@baton/core';
import { checkPayload } from '@baton/core';
import { EngineError } from '../api.js';

/**
 * What callers send is checked before it reaches a queue (R8): past it, text can be stored, and ids are spelled as the
 * database spells them, so that maps find them.
 */

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const definitionIds = /^[a-z0-9_-]{1,63}$/;
const traceparents = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const hourMs = 3_600_000;
const oldestMs = 24 * hourMs;
const newestMs = hourMs;
const longestName = 255;
const longestDurationMs = 366 * 24 * hourMs;

export function invalid(code: string, message: string, pointer = ''): EngineError {
  return new EngineError('invalid', code, message, { details: [{ pointer, code, message }] });
}

export function checkUuid(text: string, field: string): string {
  const id = text.toLowerCase();
  if (!uuid.test(id)) throw invalid('ID_INVALID', `${field} must be a UUID`, `/${field}`);
  return id;
}

/** Does it look like an id that we could have given out? For fences, where a wrong one is an answer, not an error. */
export function isUuid(text: string): boolean {
  return uuid.test(text.toLowerCase());
}

/** Run tables are partitioned by the time in the id: it must be near now, or the row has no home (seed, R25). */
export function checkClientRunId(text: string, nowMs: number): string {
  const id = text.toLowerCase();
  if (!uuidV7.test(id)) throw invalid('RUN_ID_NOT_UUIDV7', 'a run id must be a UUIDv7', '/runId');
  const at = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  if (at < nowMs - oldestMs) throw invalid('RUN_ID_TOO_OLD', 'the time in a run id must be within 24 hours', '/runId');
  if (at > nowMs + newestMs) {
    throw invalid('RUN_ID_TOO_NEW', 'the time in a run id must not be more than an hour ahead', '/runId');
  }
  return id;
}

export function checkStartedAt(startedAtMs: number | undefined, nowMs: number): void {
  if (startedAtMs === undefined) return;
  const inWindow = startedAtMs >= nowMs - oldestMs && startedAtMs <= nowMs + newestMs;
  if (Number.isSafeInteger(startedAtMs) && inWindow) return;
  const message = 'the start time must be within the last 24 hours and not more than an hour ahead';
  throw invalid('STARTED_AT_OUT_OF_RANGE', message, '/startedAtMs');
}

export function checkDefinitionId(id: string): void {
  if (!definitionIds.test(id)) {
    throw invalid('DEFINITION_ID_INVALID', 'a definition id is 1 to 63 of a-z, 0-9, - and _', '/definitionId');
  }
}

/** Names and keys: any text that the database can hold, within reason. */
export function checkName(text: string, field: string): void {
  const fits = text.length > 0 && text.length <= longestName;
  if (fits && text.isWellFormed() && !hasControl(text)) return;
  const message = `${field} must have 1 to ${longestName} characters, and no control characters`;
  throw invalid('NAME_INVALID', message, `/${field}`);
}

function hasControl(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) < 0x20) return true;
  return false;
}

export function checkCount(value: number, field: string): void {
  if (Number.isSafeInteger(value) && value >= 0 && value <= 2_147_483_647) return;
  throw invalid('NUMBER_INVALID', `${field} must be an integer from 0 to 2147483647`, `/${field}`);
}

/** Milliseconds; longer than a year is meant as "for ever" and is capped. */
export function checkDuration(ms: number, field: string): number {
  if (!Number.isFinite(ms) || ms < 0) throw invalid('DURATION_INVALID', `${field} must not be negative`, `/${field}`);
  return Math.min(Math.round(ms), longestDurationMs);
}

export function checkJson(text: JsonText, field: string, maxBytes?: number): void {
  const check = checkPayload(text, maxBytes);
  if (check.ok) return;
  const kind = check.code === 'PAYLOAD_TOO_LARGE' ? 'too-large' : 'invalid';
  const detail = { pointer: `/${field}`, code: check.code, message: check.message };
  throw new EngineError(kind, check.code, `${field}: ${check.message}`, { details: [detail] });
}

/** W3C: a header that cannot be read is as good as none. */
export function traceparentOrNone(text: string | undefined): string | undefined {
  return text !== undefined && traceparents.test(text) ? text : undefined;
}

/** Text for people, from a worker or a caller: never a reason to refuse what it comes with. */
export function cleanText(text: string, longest: number): string {
  return text.slice(0, longest).toWellFormed().replaceAll('\u0000', '\ufffd');
}
