import { checkPayload } from '@baton/core';

/** JSON that the handler made itself. Sent as it is, byte for byte. */
export class RawJson {
  constructor(readonly text: string) {}
}

export function rawJson(text: string): RawJson {
  return new RawJson(text);
}

export type EncodedResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

/**
 * A handler's result as JSON text, taken at once so that later changes of the object do not matter (B76).
 * What JSON would silently turn into something else (a Map into {}, NaN into null) is refused. `what` it is, for messages.
 */
export function encodeResult(value: unknown, what = 'the result'): EncodedResult {
  const encoded = value instanceof RawJson ? ({ ok: true, text: value.text } as const) : stringify(value, what);
  if (!encoded.ok) return encoded;
  const checked = checkPayload(encoded.text);
  return checked.ok ? encoded : { ok: false, code: checked.code, message: `${what}: ${checked.message}` };
}

function stringify(value: unknown, what: string): EncodedResult {
  try {
    return {
      ok: true,
      text: JSON.stringify(value === undefined ? null : value, refuseLoss) ?? notJson('a function or a symbol'),
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, code: 'RESULT_NOT_JSON', message: `${what} is not JSON: ${message}` };
  }
}

/** Sees what is there before toJSON has run: `this` is the holder. */
function refuseLoss(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Date && Number.isNaN(original.getTime())) notJson(at(key, 'an invalid Date'));
  switch (typeof value) {
    case 'bigint':
      return notJson(at(key, 'a BigInt'));
    case 'number':
      return Number.isFinite(value) ? value : notJson(at(key, String(value)));
    case 'function':
    case 'symbol':
      return notJson(at(key, `a ${typeof value}`));
    case 'object':
      return isLossy(value) ? notJson(at(key, `a ${value.constructor.name}`)) : value;
    default:
      return value;
  }
}

function isLossy(value: object | null): value is object {
  return (
    value instanceof Map ||
    value instanceof Set ||
    value instanceof WeakMap ||
    value instanceof WeakSet ||
    value instanceof Promise ||
    value instanceof RegExp ||
    value instanceof Error ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value)
  );
}

function at(key: string, what: string): string {
  return key === '' ? what : `${what} at ${JSON.stringify(key)}`;
}

function notJson(what: string): never {
  throw new TypeError(what);
}
