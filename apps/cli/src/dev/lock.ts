import { linkSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { identify, isRunning, moveAside, readIdentity, type ProcessIdentity } from '@baton/local-stack';

export type LockResult = { readonly kind: 'taken' } | { readonly kind: 'held'; readonly holder: ProcessIdentity };

/** This process, as it will be recognised by a later `up`, `down` or `status`. */
export function ownIdentity(): ProcessIdentity {
  const identity = identify(process.pid, basename(process.argv[1] ?? 'node'));
  if (identity === undefined) throw new Error('the system does not tell when this process started');
  return identity;
}

/**
 * One supervisor for each folder. The lock appears with its content in one step (a hard link), so it is never half
 * written; one whose holder is gone is stale and moved out of the way.
 */
export function takeLock(file: string, self: ProcessIdentity): LockResult {
  mkdirSync(dirname(file), { recursive: true });
  const own = `${file}.${self.pid}`;
  writeFileSync(own, JSON.stringify(self));
  try {
    for (;;) {
      try {
        linkSync(own, file);
        return { kind: 'taken' };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = readIdentity(file);
      if (holder !== undefined && isRunning(holder)) return { kind: 'held', holder };
      unlinkSync(moveAside(file, 'stale'));
    }
  } finally {
    unlinkSync(own);
  }
}

export function releaseLock(file: string, self: ProcessIdentity): void {
  if (readIdentity(file)?.pid === self.pid) unlinkSync(file);
}
