import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, startKafkaBehindProxy, type KafkaBehindProxy } from '@baton/testkit';
import { createBusConsumer } from './consumer.js';
import type { BusConsumer } from './consumer-port.js';
import { createLaneProducer } from './producer.js';
import type { LaneProducer } from './producer-port.js';

const SESSION_MS = 6_000;

/** What a worker reads its tasks with, and what the relay sends with, behind a proxy; the test acts beside it too. */
describe('A client of Kafka whose network fails', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-consumer-network-'));
  let kafka: KafkaBehindProxy;
  let producer: LaneProducer;
  let consumer: BusConsumer;
  let topic: string;
  let seen: string[];
  let committed: bigint;

  beforeAll(async () => {
    kafka = await startKafkaBehindProxy({ dataDir: join(folder, 'kafka') });
    producer = createLaneProducer({ brokers: [kafka.kafka.brokers], clientId: 'network-spec' });
  }, 120_000);

  afterAll(async () => {
    await producer.close();
    await kafka.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  beforeEach(async () => {
    const name = randomBytes(5).toString('hex');
    topic = `baton.default.tasks.${name}`;
    seen = [];
    committed = -1n;
    await producer.ensureTopic(topic, { partitions: 1, replicationFactor: 1 });
    consumer = createBusConsumer({
      brokers: [kafka.brokers],
      clientId: 'network-spec',
      groupId: name,
      topics: [topic],
      sessionTimeoutMs: SESSION_MS,
      commitIntervalMs: 100,
      hooks: { committed: (_topic, _partition, offset) => (committed = offset) },
      onBatch: (batch) => {
        for (const message of batch.messages) {
          seen.push(message.value?.toString('utf8') ?? '');
          batch.done(message.offset);
        }
        return Promise.resolve();
      },
    });
    await consumer.start();
    await write(0, 5);
    await eventually(() => committed === 5n, { what: 'the first messages' });
  });

  afterEach(async () => {
    kafka.proxy.thaw();
    kafka.proxy.refuse(false);
    kafka.proxy.delay(0);
    await consumer.stop();
  });

  async function write(from: number, to: number): Promise<void> {
    const messages = Array.from({ length: to - from }, (_x, i) => ({ key: 'k', value: String(from + i), headers: {} }));
    await eventually(() => producer.sendLane(topic, 0, messages), { what: 'the topic to have a leader' });
  }

  /** Every message came, and in order by its first time; what was not committed may come again. */
  async function allCame(count: number): Promise<void> {
    await eventually(() => committed === BigInt(count), { timeoutMs: 60_000, what: 'all messages to be committed' });
    expect([...new Set(seen)]).toEqual(Array.from({ length: count }, (_x, i) => String(i)));
  }

  it('goes on after its broker was frozen for longer than its session lasts', async () => {
    const from = performance.now();
    kafka.proxy.freeze();
    await write(5, 10);
    await eventually(() => performance.now() - from > SESSION_MS * 1.5, { timeoutMs: 20_000 });
    expect(seen).toHaveLength(5);
    kafka.proxy.thaw();
    await write(10, 15);
    await allCame(15);
  }, 90_000);

  it('goes on after its connections were cut and refused', async () => {
    kafka.proxy.refuse(true);
    kafka.proxy.cut();
    await write(5, 10);
    kafka.proxy.refuse(false);
    await allCame(10);
  }, 90_000);

  it('reads on a slow line', async () => {
    kafka.proxy.delay(150);
    await write(5, 10);
    await allCame(10);
  }, 90_000);

  describe('when it sends', () => {
    let sender: LaneProducer;

    beforeEach(async () => {
      sender = createLaneProducer({ brokers: [kafka.brokers], clientId: 'network-spec', requestTimeoutMs: 2_000 });
      await send('first');
    });
    afterEach(() => sender.close());

    const send = (value: string) => sender.sendLane(topic, 0, [{ key: 'k', value, headers: {} }]);
    /** Messages after the first five; those that a sender repeats come each time. */
    const sent = (): readonly string[] => seen.filter((value) => Number.isNaN(Number(value)));

    it.each([
      ['before it arrived', () => kafka.proxy.cutBeforeCommit(), 1],
      ['when it was stored and the answer on its way', () => kafka.proxy.cutAfterCommit(), 2],
    ])('hears that a message may be lost that was cut off %s', async (_when, arm, times) => {
      const fault = arm();
      await expect(send('again')).rejects.toMatchObject({ kind: 'retry' });
      await fault.done;
      await eventually(() => send('again').catch(() => undefined), { what: 'the repetition' });
      await send('last');
      await eventually(() => sent().includes('last'), { what: 'the last message' });
      expect(sent()).toEqual(['first', ...Array.from({ length: times }, () => 'again'), 'last']);
    });

    it('hears that a message may be lost that is held up, and it may still come', async () => {
      const fault = kafka.proxy.holdCommit();
      await expect(send('late')).rejects.toMatchObject({ kind: 'retry' });
      await eventually(() => send('next').catch(() => undefined), { what: 'the next message' });
      fault.deliver();
      await eventually(() => sent().includes('late'), { what: 'the late message' });
      expect(sent()).toEqual(['first', 'next', 'late']);
    });
  });
});
