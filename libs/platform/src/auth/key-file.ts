import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from './principal.js';

const keyEntry = z.strictObject({
  id: z.string().regex(/^[a-zA-Z0-9-]{1,63}$/, 'must be 1 to 63 letters, digits or hyphens'),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the whole key in lower-case hex'),
  namespace: z.string().regex(/^[a-z0-9-]{1,63}$/, 'must match [a-z0-9-]{1,63}'),
  role: z.enum(['admin', 'client', 'worker']),
});

const keyFile = z.array(keyEntry).max(10_000);

interface StoredKey {
  readonly hash: Buffer;
  readonly principal: Principal;
}

/** Keys by id. Only hashes are kept; a key has 32 random bytes, so one plain SHA-256 is enough. */
export class KeyRing {
  private constructor(private readonly keys: ReadonlyMap<string, StoredKey>) {}

  static parse(text: string): KeyRing {
    const entries = keyFile.parse(parseJson(text));
    const keys = new Map<string, StoredKey>();
    for (const entry of entries) {
      if (keys.has(entry.id)) throw new Error(`key id ${entry.id} stands twice in the file`);
      keys.set(entry.id, {
        hash: Buffer.from(entry.sha256, 'hex'),
        principal: { namespace: entry.namespace, role: entry.role, keyId: entry.id },
      });
    }
    return new KeyRing(keys);
  }

  get size(): number {
    return this.keys.size;
  }

  find(key: string): Principal | undefined {
    const id = /^bk_([a-zA-Z0-9-]{1,63})_[\x21-\x7e]{1,512}$/.exec(key)?.[1];
    const hash = createHash('sha256').update(key).digest();
    const stored = id === undefined ? undefined : this.keys.get(id);
    // An unknown id takes as long as a wrong secret.
    const equal = timingSafeEqual(hash, stored?.hash ?? UNKNOWN_KEY_HASH);
    return stored !== undefined && equal ? stored.principal : undefined;
  }
}

const UNKNOWN_KEY_HASH = createHash('sha256').update('no such key').digest();

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`not JSON: ${(error as Error).message}`, { cause: error });
  }
}

export function explainKeyFileError(error: unknown): string {
  if (error instanceof z.ZodError) {
    return error.issues.map((issue) => `/${issue.path.join('/')}: ${issue.message}`).join('; ');
  }
  return error instanceof Error ? error.message : String(error);
}
