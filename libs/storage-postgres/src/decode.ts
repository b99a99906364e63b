import type { Failure } from '@baton/core';

/**
 * Row decoders: what comes from the driver is `unknown`, what leaves the store is typed. A value of another kind than
 * the statement promises is a bug in this package, so it throws.
 */

export function text(value: unknown): string {
  if (typeof value !== 'string') throw mismatch('text', value);
  return value;
}

export function textOrNull(value: unknown): string | null {
  return value === null ? null : text(value);
}

/** Integers, also those that the driver gives as text because they may be 64 bits wide. */
export function integer(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) throw mismatch('safe integer', value);
  return number;
}

export function integerOrNull(value: unknown): number | null {
  return value === null ? null : integer(value);
}

export function flag(value: unknown): boolean {
  if (typeof value !== 'boolean') throw mismatch('boolean', value);
  return value;
}

/** Instants, as the driver's Date or, inside JSON, as text. */
export function instant(value: unknown): Date {
  const date = typeof value === 'string' ? new Date(value) : value;
  if (!(date instanceof Date) || Number.isNaN(date.getTime())) throw mismatch('instant', value);
  return date;
}

export function instantOrNull(value: unknown): Date | null {
  return value === null ? null : instant(value);
}

/** Text that a CHECK constraint keeps to these words. */
export function word<T extends string>(words: ReadonlySet<T>, value: unknown): T {
  if (typeof value !== 'string' || !isOneOf(words, value)) throw mismatch([...words].join(' | '), value);
  return value;
}

export function wordOrNull<T extends string>(words: ReadonlySet<T>, value: unknown): T | null {
  return value === null ? null : word(words, value);
}

function isOneOf<T extends string>(words: ReadonlySet<T>, value: string): value is T {
  const known: ReadonlySet<string> = words;
  return known.has(value);
}

export function failure(code: unknown, message: unknown, nodeId: unknown): Failure | null {
  if (code === null) return null;
  return { code: text(code), message: text(message), ...(nodeId !== null && { nodeId: text(nodeId) }) };
}

/** json_agg: the driver has parsed it; NULL when there was no row. */
export function jsonRows(value: unknown): readonly (readonly unknown[])[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw mismatch('JSON array', value);
  return value.map((row: unknown) => {
    if (!Array.isArray(row)) throw mismatch('JSON array', row);
    return row;
  });
}

function mismatch(wanted: string, value: unknown): TypeError {
  return new TypeError(`The database returned a ${typeof value} where ${wanted} was expected`);
}
