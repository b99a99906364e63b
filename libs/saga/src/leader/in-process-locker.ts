import type { Clock } from '../executor/types.js';
import { systemClock } from '../executor/system-clock.js';
import type { Locker } from './locker.js';
import { RenewingLocker, type LockBackend } from './renewing-locker.js';

/** For several runtimes in one process, and for tests: share one of it among them. */
export function inProcessLocker(options: { readonly clock?: Clock } = {}): Locker {
  const { clock = systemClock } = options;
  let tokens = 0;
  return new RenewingLocker({ backend: memoryBackend(clock), clock, newToken: () => `${(tokens += 1)}` });
}

/** Locks in a map. An entry that nobody renews is there until its key is asked for again. */
export function memoryBackend(clock: Clock): LockBackend {
  const locks = new Map<string, { readonly token: string; readonly expiresAt: number }>();
  const isHeldBy = (key: string, token: string) => {
    const lock = locks.get(key);
    return lock?.token === token && clock.now() <= lock.expiresAt;
  };
  return {
    take({ key, token }, ttlMs) {
      const lock = locks.get(key);
      if (lock !== undefined && clock.now() <= lock.expiresAt) return Promise.resolve(lock.token === token);
      locks.set(key, { token, expiresAt: clock.now() + ttlMs });
      return Promise.resolve(true);
    },
    renew({ key, token }, ttlMs) {
      const isOurs = isHeldBy(key, token);
      if (isOurs) locks.set(key, { token, expiresAt: clock.now() + ttlMs });
      return Promise.resolve(isOurs);
    },
    release({ key, token }) {
      if (locks.get(key)?.token === token) locks.delete(key);
      return Promise.resolve();
    },
  };
}
