import { ApiError, type ErrorDetail } from './errors.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NAME = /^[a-z0-9-]{1,63}$/;
const DEFINITION_ID = /^[a-z0-9_-]{1,63}$/;
const MAX_INT32 = 2_147_483_647;

/** Collects everything that is wrong with a message, so that the caller hears it all at once. */
export class Problems {
  private readonly found: ErrorDetail[] = [];

  add(pointer: string, code: string, message: string): void {
    this.found.push({ pointer, code, message });
  }

  /** Lower case, as PostgreSQL prints it: ids are compared as text in memory. */
  uuid(pointer: string, value: string): string {
    if (value === '') this.add(pointer, 'REQUIRED', `${name(pointer)} is required`);
    else if (!UUID.test(value)) this.add(pointer, 'NOT_A_UUID', `${name(pointer)} must be a UUID`);
    return value.toLowerCase();
  }

  /** Text that PostgreSQL can hold, at most `max` characters. */
  text(pointer: string, value: string, max: number): string {
    if (value.includes('\0')) this.add(pointer, 'NUL', `${name(pointer)} must not hold NUL characters`);
    if (!value.isWellFormed()) this.add(pointer, 'SURROGATE', `${name(pointer)} must not hold lone surrogates`);
    if (value.length > max) this.add(pointer, 'TOO_LONG', `${name(pointer)} must have at most ${max} characters`);
    return value;
  }

  requiredText(pointer: string, value: string, max: number): string {
    if (value === '') this.add(pointer, 'REQUIRED', `${name(pointer)} is required`);
    return this.text(pointer, value, max);
  }

  /** R28. */
  namespace(pointer: string, value: string): string {
    if (!NAME.test(value)) this.add(pointer, 'BAD_NAME', `${name(pointer)} must match ${NAME.source}`);
    return value;
  }

  /** R28. */
  definitionId(pointer: string, value: string): string {
    if (value === '') this.add(pointer, 'REQUIRED', `${name(pointer)} is required`);
    else if (!DEFINITION_ID.test(value)) {
      this.add(pointer, 'BAD_NAME', `${name(pointer)} must match ${DEFINITION_ID.source}`);
    }
    return value;
  }

  /** int32 fields: 0 .. 2^31-1. */
  count(pointer: string, value: number): number {
    if (value < 0) this.add(pointer, 'NEGATIVE', `${name(pointer)} must not be negative`);
    return value;
  }

  /** int64 fields that hold a duration or an instant. Above 2^53 JavaScript would lose digits. */
  integer(pointer: string, value: bigint, max = Number.MAX_SAFE_INTEGER): number {
    if (value < 0n) this.add(pointer, 'NEGATIVE', `${name(pointer)} must not be negative`);
    else if (value > BigInt(max)) this.add(pointer, 'TOO_LARGE', `${name(pointer)} must be at most ${max}`);
    return Number(value);
  }

  /** A time to live in seconds: bounded so that its milliseconds fit every 32-bit timer. */
  seconds(pointer: string, value: bigint): number {
    return this.integer(pointer, value, Math.floor(MAX_INT32 / 1000)) * 1000;
  }

  throwIfAny(): void {
    if (this.found.length === 0) return;
    const text = this.found.map((problem) => problem.message).join('; ');
    throw new ApiError('invalid', 'INVALID_ARGUMENT', text, this.found);
  }
}

/** '/calls/0/task_id' -> 'task_id' */
function name(pointer: string): string {
  return pointer.slice(pointer.lastIndexOf('/') + 1);
}
