import { MAX_DURATION_MS } from '../run/policy.js';

export type DurationParse =
  | { readonly ok: true; readonly ms: number }
  | { readonly ok: false; readonly code: 'BAD_DURATION' | 'OUT_OF_RANGE'; readonly message: string };

const WEEK_MS = 604_800_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

const WEEKS = /^P(\d+)W$/;
/** A part at least, and one after the T if there is one. */
const DAYS_AND_TIME = /^P(?=\d|T\d)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$/;

/**
 * An ISO 8601 duration as milliseconds: weeks, or days, hours, minutes and seconds (up to three decimals).
 * Years and months are refused: they have no length until one knows from when they count (B56).
 */
export function parseDuration(text: string): DurationParse {
  const weeks = WEEKS.exec(text);
  if (weeks !== null) return inRange(Number(weeks[1]) * WEEK_MS);
  const parts = DAYS_AND_TIME.exec(text);
  if (parts === null) return { ok: false, code: 'BAD_DURATION', message: hint(text) };
  const [, days, hours, minutes, seconds, fraction] = parts;
  return inRange(
    Number(days ?? 0) * DAY_MS +
      Number(hours ?? 0) * HOUR_MS +
      Number(minutes ?? 0) * MINUTE_MS +
      Number(seconds ?? 0) * SECOND_MS +
      Number((fraction ?? '').padEnd(3, '0')),
  );
}

function inRange(ms: number): DurationParse {
  if (ms <= MAX_DURATION_MS) return { ok: true, ms };
  return { ok: false, code: 'OUT_OF_RANGE', message: 'longer than 100 years' };
}

/** What the writer may have meant. */
function hint(text: string): string {
  const daysInTime = /^PT(\d+)D(.*)$/.exec(text);
  if (daysInTime !== null) {
    const rest = daysInTime[2] ?? '';
    return `days come before the T: P${daysInTime[1]}D${rest === '' ? '' : `T${rest}`} is meant`;
  }
  if (text.startsWith('-')) return 'a duration cannot be negative';
  if (/^P[^T]*\d[YM]/.test(text)) return 'years and months have no fixed length: give days, such as P30D';
  if (DAYS_AND_TIME.test(text.toUpperCase())) return `ISO 8601 is written in capitals: ${text.toUpperCase()}`;
  if (/^\d+$/.test(text)) return `give a unit, such as PT${text}S`;
  return 'not an ISO 8601 duration, such as PT30S, PT5M or P30D';
}
