import { existsSync, readFileSync, renameSync } from 'node:fs';

/** The JSON of a file; undefined when it is missing or is not JSON. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

/** Healing never deletes: what cannot be used is put beside, under a name that says why and when. */
export function moveAside(path: string, why: string, now: Date = new Date()): string {
  const stamp = now.toISOString().replaceAll(/[:.]/g, '-');
  let target = `${path}.${why}-${stamp}`;
  for (let n = 2; existsSync(target); n += 1) target = `${path}.${why}-${stamp}-${n}`;
  renameSync(path, target);
  return target;
}
