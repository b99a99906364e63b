import { MAX_JSON_DEPTH, MAX_PAYLOAD_BYTES } from './limits.js';
import { findJsonFault, type JsonFault } from './scan.js';
import { utf8Length } from './utf8.js';

export type PayloadCode =
  'PAYLOAD_NOT_JSON' | 'PAYLOAD_TOO_LARGE' | 'PAYLOAD_TOO_DEEP' | 'PAYLOAD_NUL' | 'PAYLOAD_SURROGATE';

export type PayloadCheck =
  | { readonly ok: true; readonly bytes: number }
  | { readonly ok: false; readonly code: PayloadCode; readonly message: string };

/**
 * Every edge calls this on what callers and workers send, before it reaches a queue (R8): past it, a payload is text
 * that is stored and forwarded byte for byte.
 */
export function checkPayload(text: string, maxBytes: number = MAX_PAYLOAD_BYTES): PayloadCheck {
  // Length in UTF-16 units is a lower bound of the bytes: a huge text is refused without being read.
  const bytes = text.length > maxBytes ? text.length : utf8Length(text);
  if (bytes > maxBytes) {
    return {
      ok: false,
      code: 'PAYLOAD_TOO_LARGE',
      message: `the payload is larger than ${maxBytes} bytes`,
    };
  }
  const fault = findJsonFault(text, MAX_JSON_DEPTH);
  if (fault === undefined) return { ok: true, bytes };
  return { ok: false, code: PAYLOAD_CODES[fault.code], message: `${fault.message} (at character ${fault.at})` };
}

const PAYLOAD_CODES = {
  NOT_JSON: 'PAYLOAD_NOT_JSON',
  TOO_DEEP: 'PAYLOAD_TOO_DEEP',
  NUL: 'PAYLOAD_NUL',
  SURROGATE: 'PAYLOAD_SURROGATE',
} as const satisfies Record<JsonFault['code'], PayloadCode>;
