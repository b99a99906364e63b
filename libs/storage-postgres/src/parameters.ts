import { InvalidValueError } from './errors.js';

/**
 * Parameters as PostgreSQL's binary arrays. In text form every quote of a payload would be escaped here and unescaped
 * there; in binary form payload bytes go as they are (B69), and ids and numbers need no parsing.
 */

export type Nullable<T> = readonly (T | null)[];

/** Builtin types have these numbers in every database. */
const ELEMENT_TYPES = { bool: 16, int8: 20, int2: 21, int4: 23, text: 25, uuid: 2950 } as const;

const HEADER_BYTES = 20;
const EMPTY_HEADER_BYTES = 12;

export function encodeParameter(type: string, value: unknown): unknown {
  switch (type) {
    case 'text[]':
      return encodeTexts(value as Nullable<string>);
    case 'uuid[]':
      return encodeUuids(value as Nullable<string>);
    case 'integer[]':
      return encodeFixed(ELEMENT_TYPES.int4, 4, value as Nullable<number>, writeInt4);
    case 'bigint[]':
      return encodeFixed(ELEMENT_TYPES.int8, 8, value as Nullable<number>, writeInt8);
    case 'smallint[]':
      return encodeFixed(ELEMENT_TYPES.int2, 2, value as Nullable<number>, writeInt2);
    case 'boolean[]':
      return encodeFixed(ELEMENT_TYPES.bool, 1, value as Nullable<boolean>, writeBool);
    default:
      return value;
  }
}

function writeHeader(target: Buffer, elementType: number, length: number): void {
  target.writeInt32BE(length === 0 ? 0 : 1, 0);
  // "May hold nulls": read as a hint only.
  target.writeInt32BE(1, 4);
  target.writeInt32BE(elementType, 8);
  if (length === 0) return;
  target.writeInt32BE(length, 12);
  target.writeInt32BE(1, 16);
}

function emptyArray(elementType: number): Buffer {
  const target = Buffer.allocUnsafe(EMPTY_HEADER_BYTES);
  writeHeader(target, elementType, 0);
  return target;
}

const EMPTY = new Map(Object.values(ELEMENT_TYPES).map((type) => [type as number, emptyArray(type)]));

function encodeFixed<T>(
  elementType: number,
  width: number,
  values: Nullable<T>,
  write: (target: Buffer, value: T, at: number) => void,
): Buffer {
  if (values.length === 0) return EMPTY.get(elementType) ?? emptyArray(elementType);
  let bytes = HEADER_BYTES;
  for (const value of values) bytes += value === null ? 4 : 4 + width;
  const target = Buffer.allocUnsafe(bytes);
  writeHeader(target, elementType, values.length);
  let at = HEADER_BYTES;
  for (const value of values) {
    if (value === null) {
      target.writeInt32BE(-1, at);
      at += 4;
    } else {
      target.writeInt32BE(width, at);
      write(target, value, at + 4);
      at += 4 + width;
    }
  }
  return target;
}

function writeInt2(target: Buffer, value: number, at: number): void {
  target.writeInt16BE(value, at);
}

function writeInt4(target: Buffer, value: number, at: number): void {
  target.writeInt32BE(value, at);
}

/** Counters and milliseconds: JavaScript's safe integers. In two halves, without a bigint for each. */
function writeInt8(target: Buffer, value: number, at: number): void {
  if (!Number.isSafeInteger(value)) throw new InvalidValueError(`not an integer: ${value}`);
  const high = Math.floor(value / 0x1_0000_0000);
  target.writeInt32BE(high, at);
  target.writeUInt32BE(value - high * 0x1_0000_0000, at + 4);
}

function writeBool(target: Buffer, value: boolean, at: number): void {
  target[at] = value ? 1 : 0;
}

/** Grows to the largest array sent and stays: the result is copied out of it. */
let scratch = Buffer.allocUnsafe(64 * 1024);

function reserve(at: number, bytes: number): void {
  if (at + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafe(Math.max(scratch.length * 2, at + bytes));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}

const MAX_SCRATCH_BYTES = 4 * 1024 * 1024;

function encodeTexts(values: Nullable<string>): Buffer {
  if (values.length === 0) return EMPTY.get(ELEMENT_TYPES.text) ?? emptyArray(ELEMENT_TYPES.text);
  let at = HEADER_BYTES;
  for (const value of values) {
    if (value === null) {
      reserve(at, 4);
      scratch.writeInt32BE(-1, at);
      at += 4;
    } else {
      // A UTF-16 unit becomes at most three bytes.
      reserve(at, 4 + value.length * 3);
      const written = scratch.write(value, at + 4);
      scratch.writeInt32BE(written, at);
      at += 4 + written;
    }
  }
  writeHeader(scratch, ELEMENT_TYPES.text, values.length);
  const result = Buffer.allocUnsafe(at);
  scratch.copy(result, 0, 0, at);
  if (scratch.length > MAX_SCRATCH_BYTES) scratch = Buffer.allocUnsafe(64 * 1024);
  return result;
}

function encodeUuids(values: Nullable<string>): Buffer {
  return encodeFixed(ELEMENT_TYPES.uuid, 16, values, writeUuid);
}

/** Value of a hexadecimal digit by its character code; 0xff = none. */
const HEX_VALUES = Uint8Array.from({ length: 128 }, (_unused, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? 0xff : value;
});

function hexValue(code: number): number {
  return code < 128 ? (HEX_VALUES[code] ?? 0xff) : 0xff;
}

function writeUuid(target: Buffer, value: string, at: number): void {
  let read = 0;
  for (let byte = 0; byte < 16; byte += 1) {
    if (value.charCodeAt(read) === 45) read += 1;
    const high = hexValue(value.charCodeAt(read));
    const low = hexValue(value.charCodeAt(read + 1));
    if ((high | low) > 15) throw new InvalidValueError(`not a UUID: ${value}`);
    target[at + byte] = (high << 4) | low;
    read += 2;
  }
  if (read !== value.length) throw new InvalidValueError(`not a UUID: ${value}`);
}
