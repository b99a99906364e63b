import { InvalidValueError } from './errors.js';

/**
 * Parameters as PostgreSQL's binary arrays. In text form every quote of a payload would be escaped here and unescaped
 * there; in binary form payload bytes go as they are (B69), and ids and numbers need no parsing.
 */

export type Nullable<T> = readonly (T | null)[];

/** Builtin types have these numbers in every database. */
const ELEMENT_TYPES = { bool: 16, int8: 20, int2: 21, int4: 23, text: 25, uuid: 2950 } as const;

const HEADER_BYTES = 20;

type Encoder = (value: unknown) => unknown;

/** How values of a declared type are sent. */
export function encoderOf(type: string): Encoder {
  switch (type) {
    case 'text[]':
      return arrayEncoder<string>(ELEMENT_TYPES.text, (values) => encodeTexts(values));
    case 'uuid[]':
      return fixedEncoder(ELEMENT_TYPES.uuid, 16, writeUuid);
    case 'integer[]':
      return fixedEncoder(ELEMENT_TYPES.int4, 4, writeCheckedInt4);
    case 'bigint[]':
      return fixedEncoder(ELEMENT_TYPES.int8, 8, writeInt8);
    case 'smallint[]':
      return fixedEncoder(ELEMENT_TYPES.int2, 2, writeInt2);
    case 'boolean[]':
      return fixedEncoder(ELEMENT_TYPES.bool, 1, writeBool);
    default:
      return (value) => value;
  }
}

/** Arrays of nothing, and of one NULL, are most of what a single event sends: made once. */
function arrayEncoder<T>(elementType: number, encode: (values: Nullable<T>) => Buffer): Encoder {
  const empty = Buffer.alloc(12);
  empty.writeInt32BE(1, 4);
  empty.writeInt32BE(elementType, 8);
  const oneNull = Buffer.alloc(HEADER_BYTES + 4);
  writeHeader(oneNull, elementType, 1);
  writeInt4(oneNull, -1, HEADER_BYTES);
  return (value) => {
    const values = value as Nullable<T>;
    if (values.length === 0) return empty;
    return values.length === 1 && values[0] === null ? oneNull : encode(values);
  };
}

/**
 * One closure a type, so that each inner loop sees one kind of value. Byte by byte: Buffer's own writers check their
 * arguments every time.
 */
function fixedEncoder<T>(
  elementType: number,
  width: number,
  write: (target: Buffer, value: T, at: number) => void,
): Encoder {
  return arrayEncoder<T>(elementType, (values) => {
    let nulls = 0;
    for (const value of values) if (value === null) nulls += 1;
    const target = Buffer.allocUnsafe(HEADER_BYTES + 4 * values.length + width * (values.length - nulls));
    writeHeader(target, elementType, values.length);
    let at = HEADER_BYTES;
    for (const value of values) {
      if (value === null) {
        writeInt4(target, -1, at);
        at += 4;
      } else {
        writeInt4(target, width, at);
        write(target, value, at + 4);
        at += 4 + width;
      }
    }
    return target;
  });
}

function writeHeader(target: Buffer, elementType: number, length: number): void {
  writeInt4(target, 1, 0);
  // "May hold nulls": read as a hint only.
  writeInt4(target, 1, 4);
  writeInt4(target, elementType, 8);
  writeInt4(target, length, 12);
  writeInt4(target, 1, 16);
}

function writeInt2(target: Buffer, value: number, at: number): void {
  target[at] = value >>> 8;
  target[at + 1] = value;
}

function writeInt4(target: Buffer, value: number, at: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

function writeCheckedInt4(target: Buffer, value: number, at: number): void {
  if (value !== (value | 0)) throw new InvalidValueError(`not a 32-bit integer: ${value}`);
  writeInt4(target, value, at);
}

/** Counters and milliseconds: JavaScript's safe integers. In two halves, without a bigint for each. */
function writeInt8(target: Buffer, value: number, at: number): void {
  if (!Number.isSafeInteger(value)) throw new InvalidValueError(`not an integer: ${value}`);
  const high = Math.floor(value / 0x1_0000_0000);
  writeInt4(target, high, at);
  writeInt4(target, value - high * 0x1_0000_0000, at + 4);
}

function writeBool(target: Buffer, value: boolean, at: number): void {
  target[at] = value ? 1 : 0;
}

/** Grows to the largest array sent; what was larger than this is let go again. */
const KEPT_SCRATCH_BYTES = 4 * 1024 * 1024;
let scratch = Buffer.allocUnsafe(64 * 1024);

function reserve(at: number, bytes: number): void {
  if (at + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafe(Math.max(scratch.length * 2, at + bytes));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}

function encodeTexts(values: Nullable<string>): Buffer {
  let at = HEADER_BYTES;
  for (const value of values) {
    if (value === null) {
      reserve(at, 4);
      writeInt4(scratch, -1, at);
      at += 4;
    } else {
      // A UTF-16 unit becomes at most three bytes.
      reserve(at, 4 + value.length * 3);
      const written = value.length <= SHORT_TEXT ? writeShort(value, at + 4) : scratch.write(value, at + 4);
      writeInt4(scratch, written, at);
      at += 4 + written;
    }
  }
  writeHeader(scratch, ELEMENT_TYPES.text, values.length);
  const result = Buffer.allocUnsafe(at);
  scratch.copy(result, 0, 0, at);
  if (scratch.length > KEPT_SCRATCH_BYTES) scratch = Buffer.allocUnsafe(64 * 1024);
  return result;
}

/** Below this a call into the runtime costs more than a loop. */
const SHORT_TEXT = 24;

function writeShort(value: string, at: number): number {
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code > 127) return scratch.write(value, at);
    scratch[at + index] = code;
  }
  return value.length;
}

const NOT_HEX = 0xff;

/** Value of a hexadecimal digit by its character code, for every code there is. */
const HEX_VALUES = new Uint8Array(0x1_0000).fill(NOT_HEX);
for (let digit = 0; digit < 16; digit += 1) {
  HEX_VALUES[digit.toString(16).charCodeAt(0)] = digit;
  HEX_VALUES[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

const UUID_LENGTH = 36;
const DASH = '-'.charCodeAt(0);
/** Where in its text each byte of an id begins. */
const BYTE_PLACES = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);
const DASH_PLACES = [8, 13, 18, 23];

/** Ids are a third of what a write sends, so this is the hottest loop of the encoding. */
function writeUuid(target: Buffer, value: string, at: number): void {
  let wrong = value.length === UUID_LENGTH ? 0 : NOT_HEX;
  for (const place of DASH_PLACES) if (value.charCodeAt(place) !== DASH) wrong = NOT_HEX;
  for (let byte = 0; byte < 16; byte += 1) {
    const place = BYTE_PLACES[byte] ?? 0;
    const high = HEX_VALUES[value.charCodeAt(place)] ?? NOT_HEX;
    const low = HEX_VALUES[value.charCodeAt(place + 1)] ?? NOT_HEX;
    wrong |= high | low;
    target[at + byte] = (high << 4) | low;
  }
  if (wrong > 15) throw new InvalidValueError(`not a UUID: ${value}`);
}
