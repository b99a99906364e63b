import { readFileSync } from 'node:fs';
import { usageError } from '../errors.js';

/** A setting, or the content of the file that its `_FILE` twin names. */
export function setting(name: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const value = environment[name];
  if (value !== undefined && value !== '') return value;
  const file = environment[`${name}_FILE`];
  if (file === undefined || file === '') return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw usageError(`${name}_FILE names a file that cannot be read: ${(error as Error).message}`);
  }
}
