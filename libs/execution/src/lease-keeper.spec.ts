import { systemClock } from './clock.js';
import { LeaseKeeper, type BeatAnswer, type KeptLease } from './lease-keeper.js';

/** An owner of leases that answers as it is told, and remembers. */
class FakeOwner {
  readonly requests: (string | undefined)[] = [];
  answer: BeatAnswer['status'] | 'never' | 'error' = 'OK';

  beat(progress: string | undefined): Promise<BeatAnswer> {
    this.requests.push(progress);
    if (this.answer === 'never') return new Promise(() => undefined);
    if (this.answer === 'error') return Promise.reject(new Error('away'));
    return Promise.resolve({ status: this.answer, ttlMs: 0 });
  }
}

class Keeper extends LeaseKeeper {
  constructor(lease: KeptLease, owner: FakeOwner, more: Partial<ConstructorParameters<typeof LeaseKeeper>[0]> = {}) {
    super({ lease, clock: systemClock, beat: (progress) => owner.beat(progress), ...more });
  }
}

const lease = (fields = {}) => ({
  ttlMs: 9_000,
  startToCloseMs: 0,
  askedAt: performance.now(),
  ...fields,
});

describe('the keeper of a lease', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('renews it three times in each time to live', async () => {
    const owner = new FakeOwner();
    const keeper = new Keeper(lease(), owner);
    await jest.advanceTimersByTimeAsync(30_100);
    expect(owner.requests).toHaveLength(10);
    expect(keeper.signal.aborted).toBe(false);
    keeper.release();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(owner.requests).toHaveLength(10);
  });

  it('gives the lease up by its own clock when nothing answers (W10)', async () => {
    const owner = new FakeOwner();
    owner.answer = 'never';
    const keeper = new Keeper(lease(), owner);
    await jest.advanceTimersByTimeAsync(8_900);
    expect(keeper.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(200);
    expect(keeper.cause).toBe('LEASE_LOST');
  });

  it('counts a renewal from when it was sent: its answer may have been long on the way (W10)', async () => {
    const answers: ((answer: BeatAnswer) => void)[] = [];
    const beat = () => new Promise<BeatAnswer>((resolve) => answers.push(resolve));
    const keeper = new Keeper(lease(), new FakeOwner(), { beat });
    await jest.advanceTimersByTimeAsync(8_000);
    answers[0]?.({ status: 'OK' });
    await jest.advanceTimersByTimeAsync(3_900);
    expect(keeper.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(200);
    expect(keeper.cause).toBe('LEASE_LOST');
  });

  it('keeps asking when the coordinator cannot say, until its own clock decides (B30)', async () => {
    const owner = new FakeOwner();
    owner.answer = 'RETRY';
    const keeper = new Keeper(lease(), owner);
    await jest.advanceTimersByTimeAsync(8_000);
    expect(owner.requests.length).toBeGreaterThan(4);
    owner.answer = 'OK';
    await jest.advanceTimersByTimeAsync(950);
    owner.answer = 'never';
    await jest.advanceTimersByTimeAsync(7_000);
    expect(keeper.signal.aborted).toBe(false);
    keeper.release();
  });

  it('aborts at once when the lease is gone (B30)', async () => {
    const owner = new FakeOwner();
    owner.answer = 'LOST';
    const keeper = new Keeper(lease(), owner);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(keeper.cause).toBe('LEASE_LOST');
    await jest.advanceTimersByTimeAsync(30_000);
    expect(owner.requests).toHaveLength(1);
  });

  it('aborts when the run no longer wants the step, and renews on so that the report can come', async () => {
    const owner = new FakeOwner();
    owner.answer = 'CANCELLED';
    const keeper = new Keeper(lease(), owner);
    await jest.advanceTimersByTimeAsync(6_000);
    expect(keeper.cause).toBe('CANCELLED');
    expect(owner.requests).toHaveLength(2);
    owner.answer = 'never';
    await jest.advanceTimersByTimeAsync(20_000);
    expect(keeper.cause).toBe('CANCELLED');
  });

  it('aborts when startToClose has passed', async () => {
    const keeper = new Keeper(lease({ startToCloseMs: 5_000 }), new FakeOwner());
    await jest.advanceTimersByTimeAsync(4_900);
    expect(keeper.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(200);
    expect(keeper.cause).toBe('TIMEOUT');
    keeper.release();
  });

  it('sends progress soon, but not with every call of an eager handler', async () => {
    const owner = new FakeOwner();
    const keeper = new Keeper(lease(), owner);
    await jest.advanceTimersByTimeAsync(1_000);
    for (let i = 0; i < 100; i += 1) keeper.setProgress(`${i}`);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(owner.requests.length).toBeLessThanOrEqual(3);
    expect(owner.requests.at(-1)).toBe('99');
    keeper.release();
  });

  it('beats at the interval that it was given, unless the lease is too short for it', async () => {
    const owner = new FakeOwner();
    const keeper = new Keeper(lease(), owner, { beatEveryMs: 4_000 });
    await jest.advanceTimersByTimeAsync(8_100);
    expect(owner.requests).toHaveLength(2);
    keeper.release();
    const short = new FakeOwner();
    const other = new Keeper(lease({ ttlMs: 6_000 }), short, { beatEveryMs: 4_000 });
    await jest.advanceTimersByTimeAsync(2_100);
    expect(short.requests).toHaveLength(1);
    other.release();
  });

  it('tells why a heartbeat renewed nothing, and whether the owner said so', async () => {
    const owner = new FakeOwner();
    owner.answer = 'error';
    const reasons: string[] = [];
    const keeper = new Keeper(lease(), owner, { onBeatFailure: (reason) => reasons.push(reason) });
    await jest.advanceTimersByTimeAsync(3_100);
    expect(reasons).toEqual(['infra_error']);
    expect(keeper.signal.aborted).toBe(false);
    owner.answer = 'LOST';
    await jest.advanceTimersByTimeAsync(3_100);
    expect(reasons).toEqual(['infra_error', 'stale_lease']);
    expect(keeper.wasDenied).toBe(true);
    const alone = new Keeper(lease(), owner);
    owner.answer = 'never';
    await jest.advanceTimersByTimeAsync(9_100);
    expect(alone.cause).toBe('LEASE_LOST');
    expect(alone.wasDenied).toBe(false);
  });

  it('does not go on when it hears a word that it does not know', async () => {
    const owner = new FakeOwner();
    owner.answer = 'PERHAPS' as 'OK';
    const keeper = new Keeper(lease(), owner);
    await jest.advanceTimersByTimeAsync(3_100);
    expect(keeper.cause).toBe('LEASE_LOST');
  });
});
