import type { IncomingMessage } from 'node:http';
import type { ErrorDetail } from '@baton/wire';
import { z } from 'zod';
import { invalid } from './problem.js';
import { toDetails } from './zod-details.js';

/**
 * Reads the query string itself: only decimal numbers, only true and false, nothing unknown, nothing twice unless the
 * schema says so (B114).
 */
export function readQuery<T>(request: IncomingMessage, schema: z.ZodType<T>): T {
  const url = request.url ?? '';
  const mark = url.indexOf('?');
  const parameters = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const values: Record<string, unknown> = {};
  const details: ErrorDetail[] = [];
  for (const name of new Set(parameters.keys())) {
    const all = parameters.getAll(name);
    const value: unknown = REPEATABLE.has(name) ? all : all[0];
    if (all.length > 1 && !REPEATABLE.has(name)) {
      details.push({ pointer: `/query/${name}`, code: 'DUPLICATE_PARAMETER', message: 'may be given once' });
    }
    Object.defineProperty(values, name, { value, enumerable: true, configurable: true });
  }
  for (const [name, value] of parameters) details.push(...unstorable(value, `/query/${name}`));
  const parsed = schema.safeParse(values);
  if (!parsed.success) details.push(...toDetails(parsed.error, '/query'));
  if (details.length > 0 || !parsed.success) throw invalid(details);
  return parsed.data;
}

const REPEATABLE = new Set(['status']);

export const queryBoolean = z.enum(['true', 'false'], 'must be true or false').transform((text) => text === 'true');

export function queryNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^(0|[1-9]\d{0,15})$/, 'must be a decimal number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)
    .meta({ override: { type: 'integer', minimum: min, maximum: max } });
}

export function readPath<T>(value: string, name: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(value);
  const unfit = unstorable(value, `/path/${name}`);
  if (parsed.success && unfit.length === 0) return parsed.data;
  if (parsed.success) throw invalid(unfit);
  throw invalid(toDetails(parsed.error, `/path/${name}`));
}

/** No text with a NUL is in any database: the question cannot be meant. Bodies are checked as a whole. */
function unstorable(value: string, pointer: string): ErrorDetail[] {
  return value.includes('\0') ? [{ pointer, code: 'NUL', message: 'must not hold NUL characters' }] : [];
}
