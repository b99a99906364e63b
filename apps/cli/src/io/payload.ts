import { readFileSync } from 'node:fs';
import { checkPayload } from '@baton/core';
import { usageError } from '../errors.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** What `@file`, `-` (standard input) or a text on the command line stands for, byte for byte. */
export function readArgument(argument: string, what: string): string {
  if (argument === '-') return decode(read(0, what), what);
  if (argument.startsWith('@')) return decode(read(argument.slice(1), what), what);
  return argument;
}

/** The same for JSON that is passed on: checked, never parsed into numbers, so that no digit is lost. */
export function readPayload(argument: string, what: string): string {
  const text = readArgument(argument, what);
  const check = checkPayload(text);
  if (!check.ok) throw usageError(`${what}: ${check.message} (${check.code})`);
  return text;
}

/** A definition: a file name, or `-`. */
export function readDefinition(argument: string): string {
  return decode(read(argument === '-' ? 0 : argument, 'definition'), 'definition');
}

function read(file: string | 0, what: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw usageError(`${what}: cannot read ${file === 0 ? 'standard input' : file}: ${(error as Error).message}`);
  }
}

function decode(bytes: Buffer, what: string): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw usageError(`${what}: not valid UTF-8`);
  }
}
