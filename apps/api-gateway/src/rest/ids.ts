import type { IncomingMessage } from 'node:http';
import { randomUUID } from 'node:crypto';
import { v7 } from 'uuid';
import { invalid } from '../http/problem.js';

const MAX_KEY_CHARS = 255;

/** `Idempotency-Key`: printable ASCII, so that it means the same in every header encoding. */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const value = request.headers['idempotency-key'];
  if (value === undefined) return undefined;
  const text = String(value);
  if (/^[\x21-\x7e]+$/.test(text) && text.length <= MAX_KEY_CHARS) return text;
  const message = `must be 1 to ${MAX_KEY_CHARS} printable ASCII characters without spaces`;
  throw invalid([{ pointer: '/header/Idempotency-Key', code: 'BAD_FORMAT', message }]);
}

/** The header and the body may both name it; two different names are a mistake of the caller. */
export function chosenKey(request: IncomingMessage, inBody: string | undefined, field: string): string | undefined {
  const inHeader = idempotencyKeyOf(request);
  if (inHeader === undefined || inBody === undefined || inHeader === inBody) return inHeader ?? inBody;
  const message = 'differs from the header Idempotency-Key';
  throw invalid([{ pointer: `/${field}`, code: 'KEY_MISMATCH', message }]);
}

/**
 * Commands always have an id before they leave this edge (R6), so that a repetition after a lost answer has one effect.
 */
export function requestIdFor(request: IncomingMessage, inBody: string | undefined): string {
  return chosenKey(request, inBody, 'requestId') ?? randomUUID();
}

/** A run id of our own, for a start without any key. */
export function newRunId(): string {
  return v7();
}

export function traceparentOf(request: IncomingMessage): string {
  const value = request.headers['traceparent'];
  return typeof value === 'string' ? value : '';
}
