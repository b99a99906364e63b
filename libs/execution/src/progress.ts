import { MAX_PROGRESS_BYTES, utf8Length } from '@baton/core';
import { encodeResult } from './result.js';

/** Progress of an attempt as JSON text. Throws where the user called: a TypeError or a RangeError with the reason. */
export function encodeProgress(value: unknown): string {
  const encoded = encodeResult(value);
  if (!encoded.ok) throw new TypeError(`progress: ${encoded.message}`);
  if (utf8Length(encoded.text) > MAX_PROGRESS_BYTES) {
    throw new RangeError(`progress must have at most ${MAX_PROGRESS_BYTES} bytes of JSON`);
  }
  return encoded.text;
}
