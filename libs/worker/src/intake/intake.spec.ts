import type { ConsumedBatch, ConsumedMessage } from '@baton/bus-kafka';
import { workerV1 } from '@baton/contracts';
import { ApiError } from '@baton/wire';
import { silentLogger } from '../logger.js';
import type { AcquireReply } from '../session/session-client.js';
import { until } from '../testing/fake-coordinator.js';
import { taskMessage } from '../testing/messages.js';
import { Intake, type Granted, type IntakeOptions } from './intake.js';

const { AcquireStatus } = workerV1;
type Status = 'GRANTED' | 'HELD' | 'STALE' | 'NOT_YET' | 'RETRY';

class Bench {
  readonly asked: workerV1.AcquireTaskLeaseRequest[] = [];
  readonly running: { granted: Granted; finish: () => void }[] = [];
  readonly buried: string[] = [];
  readonly done: bigint[] = [];
  readonly revoked = new AbortController();
  answer: (request: workerV1.AcquireTaskLeaseRequest) => Status | Promise<Status> = () => 'GRANTED';
  readonly intake: Intake;

  constructor(options: Partial<IntakeOptions> = {}) {
    this.intake = new Intake({
      owner: 'w1',
      concurrency: 2,
      logger: silentLogger,
      patienceMs: 30_000,
      session: { acquire: (request) => this.acquire(request) },
      run: (granted) => new Promise((finish) => this.running.push({ granted, finish })),
      bury: (_message, reason) => Promise.resolve(void this.buried.push(reason)),
      ...options,
    });
    benches.push(this);
  }

  take(count: number, value?: (index: number) => Buffer | null, timestampMs = Date.now()): Promise<void> {
    return this.intake.takeBatch(
      this.batch(count, value ?? ((index) => taskMessage({ attempt: index + 1 })), timestampMs),
    );
  }

  private batch(count: number, value: (index: number) => Buffer | null, timestampMs: number): ConsumedBatch {
    const message = (index: number): ConsumedMessage => ({
      topic: 't',
      partition: 0,
      offset: BigInt(index),
      key: 'run',
      value: value(index),
      headers: { type: 'task.dispatched' },
      timestampMs,
    });
    return {
      topic: 't',
      partition: 0,
      messages: Array.from({ length: count }, (_, index) => message(index)),
      lag: 0n,
      signal: this.revoked.signal,
      done: (offset) => void this.done.push(offset),
    };
  }

  private async acquire(request: workerV1.AcquireTaskLeaseRequest): Promise<AcquireReply> {
    this.asked.push(request);
    const status = AcquireStatus[`ACQUIRE_STATUS_${await this.answer(request)}`];
    const response = workerV1.AcquireTaskLeaseResponse.fromPartial({ status, attempt: request.attempt });
    return { response, sentAt: performance.now() };
  }
}

const benches: Bench[] = [];

describe('the intake of messages', () => {
  afterEach(() => {
    for (const bench of benches.splice(0)) bench.intake.stop();
  });

  it('asks for no more leases than there are free slots, and for the next when one is free', async () => {
    const bench = new Bench();
    void bench.take(5);
    await until(() => bench.running.length === 2, 'two run');
    expect(bench.asked).toHaveLength(2);
    expect(bench.intake.busy).toBe(2);
    bench.running[0]?.finish();
    await until(() => bench.running.length === 3, 'a third runs');
    expect(bench.asked.map((request) => request.attempt)).toEqual([1, 2, 3]);
  });

  it('holds the batch back while many of its messages wait for a slot', async () => {
    const bench = new Bench();
    let isTaken = false;
    void bench.take(6).then(() => (isTaken = true));
    await until(() => bench.running.length === 2, 'two run');
    expect(isTaken).toBe(false);
    bench.running[0]?.finish();
    bench.running[1]?.finish();
    await until(() => isTaken, 'the next batch may come');
  });

  it('is done with a message once its lease is granted, however long the handler takes (R10, B107)', async () => {
    const bench = new Bench();
    await bench.take(2);
    await until(() => bench.running.length === 2, 'two run');
    expect(bench.done).toEqual([0n, 1n]);
  });

  it.each(['HELD', 'STALE'] as const)('O5: is done with a message that is %s (R10)', async (status) => {
    const bench = new Bench();
    bench.answer = () => status;
    await bench.take(3);
    await until(() => bench.done.length === 3, 'all are done');
    expect(bench.running).toHaveLength(0);
    expect(bench.intake.busy).toBe(0);
  });

  it('asks again for a message that is ahead of its own commit, as the same call, and lets others pass (R10)', async () => {
    const bench = new Bench({ concurrency: 1 });
    let asked = 0;
    bench.answer = (request) => (request.attempt === 1 && (asked += 1) < 4 ? 'NOT_YET' : 'STALE');
    await bench.take(2);
    await until(() => bench.done.length === 2, 'both are done');
    expect(bench.done).toEqual([1n, 0n]);
    const calls = bench.asked.filter((request) => request.attempt === 1).map((request) => request.callId);
    expect(calls).toHaveLength(4);
    expect(new Set(calls).size).toBe(1);
  });

  it('gives a message up that is NOT_YET for longer than its patience (R10)', async () => {
    const bench = new Bench({ patienceMs: 50 });
    bench.answer = () => 'NOT_YET';
    await bench.take(1);
    await until(() => bench.done.length === 1, 'given up');
    expect(bench.asked.length).toBeGreaterThan(1);
  });

  it('does not give a message up for an old time stamp alone: clocks differ', async () => {
    const bench = new Bench();
    let asked = 0;
    bench.answer = () => ((asked += 1) < 3 ? 'NOT_YET' : 'GRANTED');
    await bench.take(1, undefined, Date.now() - 3_600_000);
    await until(() => bench.running.length === 1, 'it runs');
  });

  it('O5: keeps a message whose coordinator says RETRY (R10, B106)', async () => {
    const bench = new Bench();
    let asked = 0;
    bench.answer = () => ((asked += 1) < 3 ? 'RETRY' : 'GRANTED');
    await bench.take(1);
    await until(() => asked === 2, 'asked twice');
    expect(bench.done).toEqual([]);
    await until(() => bench.running.length === 1, 'it runs');
    expect(bench.done).toEqual([0n]);
  });

  it('leaves the backlog in Kafka while no message gets an answer', async () => {
    const bench = new Bench({ concurrency: 100 });
    bench.answer = () => 'RETRY';
    let isTaken = false;
    void bench.take(2_000).then(() => (isTaken = true));
    await until(() => bench.asked.length >= 3_000, 'all were asked for more than once');
    expect(isTaken).toBe(false);
    bench.answer = () => 'STALE';
    await until(() => isTaken, 'the next batch may come');
  });

  it('O5: buries what no worker can read, and goes on (R10, B106)', async () => {
    const bench = new Bench();
    await bench.take(3, (index) => (index === 1 ? taskMessage() : Buffer.from('not json')));
    await until(() => bench.running.length === 1, 'the good one runs');
    expect(bench.buried).toHaveLength(2);
    expect([...bench.done].sort()).toEqual([0n, 1n, 2n]);
  });

  it('gives up a message that names nothing the coordinator could look for', async () => {
    const bench = new Bench();
    bench.answer = () => Promise.reject(new ApiError('invalid', 'INVALID_ARGUMENT', 'run_id must be a UUID'));
    await bench.take(1);
    await until(() => bench.done.length === 1, 'given up');
  });

  it('asks for the input when the message has none', async () => {
    const bench = new Bench();
    await bench.take(2, (index) => (index === 0 ? taskMessage({}, null) : taskMessage()));
    await until(() => bench.asked.length === 2, 'both asked');
    expect(bench.asked.map((request) => request.wantInput)).toEqual([true, false]);
  });

  it('forgets what waits when its partition is taken away', async () => {
    const bench = new Bench({ concurrency: 1 });
    const taken = bench.take(5);
    await until(() => bench.running.length === 1, 'one runs');
    bench.revoked.abort();
    await taken;
    bench.running[0]?.finish();
    await until(() => bench.intake.waiting === 0, 'nothing waits');
    expect(bench.asked).toHaveLength(1);
  });

  it('asks for nothing more once it is stopped', async () => {
    const bench = new Bench({ concurrency: 1 });
    const taken = bench.take(5);
    await until(() => bench.running.length === 1, 'one runs');
    bench.intake.stop();
    await taken;
    bench.running[0]?.finish();
    await until(() => bench.intake.busy === 0, 'the slot is free');
    expect(bench.asked).toHaveLength(1);
    expect(bench.intake.waiting).toBe(0);
  });
});
