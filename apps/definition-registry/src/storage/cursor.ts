import { ApiError } from '@baton/wire';

interface Position {
  readonly id: string;
  readonly version: number;
}

/** Opaque to callers. */
export function encodeCursor({ id, version }: Position): string {
  return Buffer.from(JSON.stringify([id, version]), 'utf8').toString('base64url');
}

/** '' = from the beginning. */
export function decodeCursor(cursor: string): Position | undefined {
  if (cursor === '') return undefined;
  const parsed = parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  if (Array.isArray(parsed) && typeof parsed[0] === 'string' && Number.isSafeInteger(parsed[1])) {
    return { id: parsed[0].replaceAll('\0', ''), version: parsed[1] as number };
  }
  const detail = { pointer: '/cursor', code: 'CURSOR_INVALID', message: 'is not a cursor of this list' };
  throw new ApiError('invalid', 'CURSOR_INVALID', 'the cursor is not one of this list', [detail]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
