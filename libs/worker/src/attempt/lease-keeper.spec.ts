import { workerV1 } from '@baton/contracts';
import { LeaseKeeper } from './lease-keeper.js';

const { HeartbeatStatus } = workerV1;

/** A coordinator that answers as it is told, and remembers. */
class FakeSession {
  readonly requests: workerV1.HeartbeatRequest[] = [];
  answer: workerV1.HeartbeatStatus | 'never' = HeartbeatStatus.HEARTBEAT_STATUS_OK;

  heartbeat(request: workerV1.HeartbeatRequest): Promise<workerV1.HeartbeatResponse> {
    this.requests.push(request);
    if (this.answer === 'never') return new Promise(() => undefined);
    return Promise.resolve({ status: this.answer, ttlMs: 0n, taskId: request.taskId });
  }
}

const lease = (fields = {}) => ({
  runId: 'run',
  taskId: 'task',
  attempt: 2,
  leaseId: 'lease',
  ttlMs: 9_000,
  startToCloseMs: 0,
  askedAt: performance.now(),
  ...fields,
});

describe('the keeper of a lease', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('renews it three times in each time to live', async () => {
    const session = new FakeSession();
    const keeper = new LeaseKeeper(lease(), session);
    await jest.advanceTimersByTimeAsync(30_100);
    expect(session.requests).toHaveLength(10);
    expect(session.requests[0]).toMatchObject({ taskId: 'task', attempt: 2, leaseId: 'lease' });
    expect(keeper.signal.aborted).toBe(false);
    keeper.release();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(session.requests).toHaveLength(10);
  });

  it('gives the lease up by its own clock when nothing answers (W10)', async () => {
    const session = new FakeSession();
    session.answer = 'never';
    const keeper = new LeaseKeeper(lease(), session);
    await jest.advanceTimersByTimeAsync(8_900);
    expect(keeper.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(200);
    expect(keeper.cause).toBe('LEASE_LOST');
  });

  it('keeps asking when the coordinator cannot say, until its own clock decides (B30)', async () => {
    const session = new FakeSession();
    session.answer = HeartbeatStatus.HEARTBEAT_STATUS_RETRY;
    const keeper = new LeaseKeeper(lease(), session);
    await jest.advanceTimersByTimeAsync(8_000);
    expect(session.requests.length).toBeGreaterThan(4);
    session.answer = HeartbeatStatus.HEARTBEAT_STATUS_OK;
    await jest.advanceTimersByTimeAsync(950);
    session.answer = 'never';
    await jest.advanceTimersByTimeAsync(7_000);
    expect(keeper.signal.aborted).toBe(false);
    keeper.release();
  });

  it('aborts at once when the lease is gone (B30)', async () => {
    const session = new FakeSession();
    session.answer = HeartbeatStatus.HEARTBEAT_STATUS_LOST;
    const keeper = new LeaseKeeper(lease(), session);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(keeper.cause).toBe('LEASE_LOST');
    await jest.advanceTimersByTimeAsync(30_000);
    expect(session.requests).toHaveLength(1);
  });

  it('aborts when the run no longer wants the step, and renews on so that the report can come', async () => {
    const session = new FakeSession();
    session.answer = HeartbeatStatus.HEARTBEAT_STATUS_CANCELLED;
    const keeper = new LeaseKeeper(lease(), session);
    await jest.advanceTimersByTimeAsync(6_000);
    expect(keeper.cause).toBe('CANCELLED');
    expect(session.requests).toHaveLength(2);
    session.answer = 'never';
    await jest.advanceTimersByTimeAsync(20_000);
    expect(keeper.cause).toBe('CANCELLED');
  });

  it('aborts when startToClose has passed', async () => {
    const keeper = new LeaseKeeper(lease({ startToCloseMs: 5_000 }), new FakeSession());
    await jest.advanceTimersByTimeAsync(4_900);
    expect(keeper.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(200);
    expect(keeper.cause).toBe('TIMEOUT');
    keeper.release();
  });

  it('sends progress soon, but not with every call of an eager handler', async () => {
    const session = new FakeSession();
    const keeper = new LeaseKeeper(lease(), session);
    await jest.advanceTimersByTimeAsync(1_000);
    for (let i = 0; i < 100; i += 1) keeper.setProgress(`${i}`);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(session.requests.length).toBeLessThanOrEqual(3);
    expect(session.requests.at(-1)?.progress).toBe('99');
    keeper.release();
  });
});
