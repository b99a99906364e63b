import { fakeClock, settle, type FakeClock } from '../testing/fake-clock.js';
import { inProcessLocker, memoryBackend } from './in-process-locker.js';
import { RenewalHeap, type Scheduled } from './renewal-heap.js';
import { RenewingLocker, type LockBackend } from './renewing-locker.js';
import { CountedBackend } from './testing/counted-backend.js';
import { lockerSuite, type LockerWorld } from './testing/locker-suite.js';

const TTL_MS = 9_000;

function worldOf(): LockerWorld & { readonly clock: FakeClock } {
  const clock = fakeClock();
  const backend = new CountedBackend(memoryBackend(clock));
  let tokens = 0;
  const locker = () => new RenewingLocker({ backend, clock, newToken: () => `${(tokens += 1)}` });
  return { clock, a: locker(), b: locker(), advance: (ms) => clock.advance(ms), calls: () => backend.upkeep };
}

describe('the in-process locker', () => {
  let world: LockerWorld;
  beforeEach(() => (world = worldOf()));
  lockerSuite(() => world);

  it('is one locker for all runtimes of a process', async () => {
    const clock = fakeClock();
    const locker = inProcessLocker({ clock });
    const lock = await locker.acquire('key', TTL_MS);
    expect(await locker.acquire('key', TTL_MS)).toBeNull();
    await lock?.release();
    expect(clock.pending).toBe(0);
  });
});

/** A backend that answers as a test says. */
class ScriptedBackend implements LockBackend {
  renewals = 0;
  releases = 0;
  answer: 'ours' | 'theirs' | 'away' | 'never' = 'ours';

  take(): Promise<boolean> {
    return this.say();
  }

  renew(): Promise<boolean> {
    this.renewals += 1;
    return this.say();
  }

  async release(): Promise<void> {
    this.releases += 1;
    await this.say();
  }

  private say(): Promise<boolean> {
    switch (this.answer) {
      case 'ours':
        return Promise.resolve(true);
      case 'theirs':
        return Promise.resolve(false);
      case 'away':
        return Promise.reject(new Error('away'));
      case 'never':
        return new Promise(() => undefined);
    }
  }
}

describe('the renewal of locks', () => {
  function scripted() {
    const clock = fakeClock();
    const backend = new ScriptedBackend();
    return { clock, backend, locker: new RenewingLocker({ backend, clock, newToken: () => 'token' }) };
  }

  it('has one timer for any number of locks, and none without a lock', async () => {
    const { clock, locker } = scripted();
    expect(clock.pending).toBe(0);
    const locks = await Promise.all(Array.from({ length: 50 }, (_unused, n) => locker.acquire(`${n}`, TTL_MS)));
    expect(clock.pending).toBe(1);
    for (const lock of locks) lock?.orphan();
    expect(clock.pending).toBe(0);
    expect(locker.held).toBe(0);
  });

  it('takes the answer of the backend that a lock is somebody else’s for good', async () => {
    const { clock, backend, locker } = scripted();
    const lock = await locker.acquire('key', TTL_MS);
    backend.answer = 'theirs';
    await clock.advance(TTL_MS / 3);
    expect(lock?.end).toBe('lost');
    expect(lock?.ended.aborted).toBe(true);
    await clock.advance(TTL_MS * 5);
    expect(backend.renewals).toBe(1);
    await lock?.release();
    expect(backend.releases).toBe(0);
  });

  it('tries again after errors, until nine tenths of the time to live are over', async () => {
    const { clock, backend, locker } = scripted();
    const lock = await locker.acquire('key', TTL_MS);
    backend.answer = 'away';
    await clock.advance(TTL_MS * 0.8);
    expect(lock?.end).toBeNull();
    backend.answer = 'ours';
    await clock.advance(TTL_MS * 2);
    expect(lock?.end).toBeNull();
    backend.answer = 'away';
    await clock.advance(TTL_MS * 1.3);
    expect(lock?.end).toBe('lost');
    expect(clock.pending).toBe(0);
  });

  it.each(['away', 'never'] as const)('is lost in time where the backend is %s', async (answer) => {
    const { clock, backend, locker } = scripted();
    const lock = await locker.acquire('key', TTL_MS);
    backend.answer = answer;
    await clock.advance(TTL_MS * 0.9 - 1);
    expect(lock?.end).toBeNull();
    await clock.advance(1);
    expect(lock?.end).toBe('lost');
  });

  it('L7: goes on, and lets others be orphaned, while a renewal of one lock hangs', async () => {
    const { clock, backend, locker } = scripted();
    const slow = await locker.acquire('slow', TTL_MS);
    await clock.advance(1);
    const other = await locker.acquire('other', TTL_MS);
    backend.answer = 'never';
    await clock.advance(TTL_MS / 3 - 1);
    backend.answer = 'ours';
    await clock.advance(1);
    expect(backend.renewals).toBe(2);
    slow?.orphan();
    expect(slow?.end).toBe('orphaned');
    await clock.advance(TTL_MS * 2);
    expect(other?.end).toBeNull();
  });

  it('a release that hangs is given up, and says so', async () => {
    const { clock, backend, locker } = scripted();
    const lock = await locker.acquire('key', TTL_MS);
    backend.answer = 'never';
    const released = lock?.release();
    await Promise.all([expect(released).rejects.toMatchObject({ code: 'LOCK_RELEASE_TIMEOUT' }), clock.advance(5_000)]);
    expect(clock.pending).toBe(0);
  });

  it('L3: a backend that cannot tell takes nothing: what it may have taken is given back', async () => {
    const { clock, backend, locker } = scripted();
    backend.answer = 'away';
    await expect(locker.acquire('key', TTL_MS)).rejects.toThrow('away');
    await settle();
    expect(backend.releases).toBe(1);
    expect(clock.pending).toBe(0);
  });
});

describe('the heap of renewals', () => {
  it('always has the earliest first, whatever is put, moved and taken out', () => {
    const heap = new RenewalHeap<Scheduled>();
    const items: Scheduled[] = Array.from({ length: 200 }, () => ({ at: 0, index: -1 }));
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let step = 0; step < 5_000; step += 1) {
      const item = items[random(items.length)] as Scheduled;
      if (random(4) === 0) heap.remove(item);
      else heap.put(item, random(1_000));
      const inside = items.filter(({ index }) => index >= 0);
      expect(heap.size).toBe(inside.length);
      expect(heap.earliest?.at).toBe(inside.length === 0 ? undefined : Math.min(...inside.map(({ at }) => at)));
    }
  });
});
