import type { HeldLock, Locker } from '../locker.js';

/** Lockers of several processes on one backend, and its time. */
export interface LockerWorld {
  readonly a: Locker;
  readonly b: Locker;
  /** Moves the time of the backend and of the processes, in steps that are short against the time to live. */
  advance(ms: number): Promise<void>;
  /** Calls of the backend so far. */
  calls(): { readonly renew: number; readonly release: number };
}

const TTL_MS = 9_000;

async function taken(locker: Locker, key: string): Promise<HeldLock> {
  const lock = await locker.acquire(key, TTL_MS);
  if (lock === null) throw new Error(`${key} is not to be had`);
  return lock;
}

/** What every locker must do. `world` is asked for before each test. */
export function lockerSuite(world: () => LockerWorld): void {
  let keys = 0;
  const freshKey = () => `saga:5:order:${(keys += 1)}`;

  it('L3: lets one hold a lock at a time, and the next one after its release', async () => {
    const { a, b } = world();
    const key = freshKey();
    const first = await taken(a, key);
    expect(await b.acquire(key, TTL_MS)).toBeNull();
    expect(await a.acquire(key, TTL_MS)).toBeNull();
    await first.release();
    const second = await taken(b, key);
    expect(await a.acquire(key, TTL_MS)).toBeNull();
    await second.release();
  });

  it('L3: gives a lock to one of many that ask at once', async () => {
    const { a, b } = world();
    const key = freshKey();
    const answers = await Promise.all([a, b, a, b, a, b].map((locker) => locker.acquire(key, TTL_MS)));
    const held = answers.filter((lock) => lock !== null);
    expect(held).toHaveLength(1);
    await held[0]?.release();
  });

  it('locks of other keys are other locks', async () => {
    const { a, b } = world();
    const locks = [await taken(a, freshKey()), await taken(b, freshKey())];
    for (const lock of locks) await lock.release();
  });

  it('keeps a lock for as long as it is held, far beyond its time to live', async () => {
    const { a, b, advance } = world();
    const key = freshKey();
    const lock = await taken(a, key);
    await advance(TTL_MS * 4);
    expect(lock.end).toBeNull();
    expect(await b.acquire(key, TTL_MS)).toBeNull();
    await lock.release();
  });

  it('L7: an orphaned lock is neither renewed nor released: it is to be had when its time to live is over', async () => {
    const { a, b, advance, calls } = world();
    const key = freshKey();
    const lock = await taken(a, key);
    lock.orphan();
    const before = calls();
    await advance(TTL_MS - 1_000);
    expect(await b.acquire(key, TTL_MS)).toBeNull();
    await lock.release();
    expect(calls()).toEqual(before);
    await advance(1_500);
    const next = await taken(b, key);
    expect(lock.end).toBe('orphaned');
    expect(lock.ended.aborted).toBe(true);
    await next.release();
  });

  it('a lock ends once: what comes after a release changes nothing, for the next holder neither', async () => {
    const { a, b, advance } = world();
    const key = freshKey();
    const first = await taken(a, key);
    expect(first.ended.aborted).toBe(false);
    await first.release();
    const second = await taken(b, key);
    await first.release();
    first.orphan();
    expect(first.end).toBe('released');
    expect(first.ended.aborted).toBe(true);
    await advance(TTL_MS * 2);
    expect(second.end).toBeNull();
    expect(await a.acquire(key, TTL_MS)).toBeNull();
    await second.release();
  });

  it('L1: refuses a time to live below a millisecond, and a lock without a key', async () => {
    const { a } = world();
    for (const ttlMs of [0, 0.5, -1, NaN]) {
      await expect(a.acquire(freshKey(), ttlMs)).rejects.toMatchObject({ kind: 'invalid', code: 'LOCK_TTL_TOO_SHORT' });
    }
    await expect(a.acquire('', TTL_MS)).rejects.toMatchObject({ kind: 'invalid', code: 'LOCK_KEY_EMPTY' });
  });

  it('keeps hundreds of locks with few calls, and loses none', async () => {
    const { a, advance } = world();
    const locks = await Promise.all(Array.from({ length: 300 }, () => taken(a, freshKey())));
    await advance(TTL_MS * 2);
    expect(locks.filter(({ end }) => end !== null)).toEqual([]);
    await Promise.all(locks.map((lock) => lock.release()));
  });
}
