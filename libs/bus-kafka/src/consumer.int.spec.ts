import { randomBytes } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { eventually, kafkaBrokers } from '@baton/testkit';
import type { BusConsumer, BusConsumerOptions, ConsumedBatch, ConsumedMessage } from './consumer-port.js';
import { createBusConsumer } from './consumer.js';
import { createLaneProducer } from './producer.js';
import type { LaneProducer } from './producer-port.js';

const unique = (prefix: string): string => `${prefix}-${randomBytes(6).toString('hex')}`;
const text = (message: ConsumedMessage): string => message.value?.toString('utf8') ?? '';
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => String(from + i));

describe('A consumer of a group', () => {
  let brokers: string;
  let producer: LaneProducer;
  const open: BusConsumer[] = [];

  beforeAll(async () => {
    brokers = await kafkaBrokers();
    producer = createLaneProducer({ brokers: [brokers], clientId: 'consumer-spec' });
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((consumer) => consumer.stop()));
  });
  afterAll(() => producer.close());

  async function topicWith(values: readonly string[], partitions = 1): Promise<string> {
    const topic = `baton.default.tasks.${unique('c')}`;
    await producer.ensureTopic(topic, { partitions, replicationFactor: 1 });
    await write(topic, values);
    return topic;
  }

  async function write(topic: string, values: readonly string[], partition = 0): Promise<void> {
    if (values.length === 0) return;
    const messages = values.map((value) => ({ key: 'k', value, headers: { id: value } }));
    // Repeated, as callers of the producer do: a topic made a moment ago may have no leader yet.
    await eventually(() => producer.sendLane(topic, partition, messages));
  }

  function consume(
    topic: string,
    onBatch: (batch: ConsumedBatch) => Promise<void>,
    options: Partial<BusConsumerOptions> = {},
  ): BusConsumer {
    const consumer = createBusConsumer({
      brokers: [brokers],
      clientId: 'consumer-spec',
      groupId: unique('group'),
      topics: [topic],
      sessionTimeoutMs: 6000,
      commitIntervalMs: 100,
      onBatch,
      ...options,
    });
    open.push(consumer);
    return consumer;
  }

  const collector = (done: (message: ConsumedMessage) => boolean = () => true) => {
    const seen: string[] = [];
    const onBatch = (batch: ConsumedBatch): Promise<void> => {
      for (const message of batch.messages) {
        seen.push(text(message));
        if (done(message)) batch.done(message.offset);
      }
      return Promise.resolve();
    };
    return { seen, onBatch };
  };

  it('R26: reads a topic from its beginning, and what comes later at once', async () => {
    const topic = await topicWith(numbers(0, 3));
    const { seen, onBatch } = collector();
    await consume(topic, onBatch).start();
    await eventually(() => seen.length === 3);
    await write(topic, ['3']);
    await eventually(() => seen.length === 4);
    expect(seen).toEqual(numbers(0, 4));
  });

  it('leaves no listeners behind, however many batches come', async () => {
    const topic = await topicWith(['first']);
    const batches: ConsumedBatch[] = [];
    const keep = (batch: ConsumedBatch) => Promise.resolve(void batches.push(batch));
    await consume(topic, keep).start();
    for (let count = 1; count <= 12; count += 1) {
      await eventually(() => batches.length >= count);
      await write(topic, [String(count)]);
    }
    await eventually(() => getEventListeners(batches[0]?.signal as AbortSignal, 'abort').length === 0);
  });

  it('commits the contiguous prefix of what is done, and no more', async () => {
    const topic = await topicWith(numbers(0, 10));
    const groupId = unique('group');
    const first = collector((message) => text(message) !== '4');
    const one = consume(topic, first.onBatch, { groupId });
    await one.start();
    await eventually(() => first.seen.length === 10);
    await one.stop();
    const second = collector();
    await consume(topic, second.onBatch, { groupId }).start();
    await eventually(() => second.seen.length === 6);
    expect(second.seen).toEqual(numbers(4, 10));
  });

  it('commits on its timer what is done after the batch was handed over', async () => {
    const topic = await topicWith(numbers(0, 2));
    const committed: bigint[] = [];
    const batches: ConsumedBatch[] = [];
    const options = { hooks: { committed: (_t: string, _p: number, offset: bigint) => committed.push(offset) } };
    const keep = (batch: ConsumedBatch) => Promise.resolve(void batches.push(batch));
    await consume(topic, keep, options).start();
    await eventually(() => batches.length > 0);
    batches[0]?.done(1n);
    batches[0]?.done(0n);
    await eventually(() => committed.at(-1) === 2n);
  });

  it('holds a batch for longer than its session without losing its place (B107)', async () => {
    const topic = await topicWith(numbers(0, 1));
    const release = Promise.withResolvers<void>();
    let joins = 0;
    const seen: string[] = [];
    let held: ConsumedBatch | undefined;
    const onBatch = async (batch: ConsumedBatch): Promise<void> => {
      held ??= batch;
      seen.push(...batch.messages.map(text));
      if (batch === held) await release.promise;
      for (const message of batch.messages) batch.done(message.offset);
    };
    await consume(topic, onBatch, { hooks: { joined: () => (joins += 1) } }).start();
    await eventually(() => held);
    await write(topic, ['1']);
    const heldSince = performance.now();
    await eventually(() => performance.now() - heldSince > 7500);
    expect(seen).toEqual(['0']);
    expect(held?.signal.aborted).toBe(false);
    release.resolve();
    await eventually(() => seen.length === 2);
    expect(joins).toBe(1);
  });

  it('shares partitions with a second member, which gets what was not done', async () => {
    const topic = await topicWith([], 2);
    for (const partition of [0, 1]) await write(topic, numbers(partition * 10, partition * 10 + 3), partition);
    const groupId = unique('group');
    const aborted: number[] = [];
    const keep = (batch: ConsumedBatch): Promise<void> => {
      batch.signal.addEventListener('abort', () => aborted.push(batch.partition));
      return Promise.resolve();
    };
    const one = consume(topic, keep, { groupId });
    await one.start();
    const second = collector();
    const two = consume(topic, second.onBatch, { groupId });
    await two.start();
    await eventually(() => second.seen.length === 3);
    expect(aborted.toSorted()).toEqual([0, 1]);
    expect(Object.values(two.health().assignment).flat()).toHaveLength(1);
    await one.stop();
    await eventually(() => second.seen.length === 6);
    expect(second.seen.toSorted()).toEqual([...numbers(0, 3), ...numbers(10, 13)].toSorted());
  });

  it('lets go of a batch that is held when the group changes', async () => {
    const topic = await topicWith(numbers(0, 2), 2);
    const groupId = unique('group');
    const held: ConsumedBatch[] = [];
    const forever = (batch: ConsumedBatch): Promise<void> => {
      held.push(batch);
      return new Promise(() => undefined);
    };
    await consume(topic, forever, { groupId }).start();
    await eventually(() => held.length > 0);
    const joinedAfter = performance.now();
    await consume(topic, () => Promise.resolve(), { groupId }).start();
    expect(performance.now() - joinedAfter).toBeLessThan(6000);
    await eventually(() => held[0]?.signal.aborted);
  });

  it('pauses and resumes one partition', async () => {
    const topic = await topicWith(['a'], 2);
    const { seen, onBatch } = collector();
    const consumer = consume(topic, onBatch);
    await consumer.start();
    await eventually(() => seen.length === 1);
    consumer.pause(topic, 0);
    // A fetch that was under way when the pause came is dropped.
    await write(topic, ['b']);
    await write(topic, ['c'], 1);
    await eventually(() => seen.includes('c'));
    await write(topic, ['d'], 1);
    await eventually(() => seen.includes('d'));
    expect(seen).toEqual(['a', 'c', 'd']);
    consumer.resume(topic, 0);
    await eventually(() => seen.includes('b'));
  });

  it('delivers again from an offset that it is sent back to', async () => {
    const topic = await topicWith(numbers(0, 4));
    const { seen, onBatch } = collector();
    const consumer = consume(topic, onBatch);
    await consumer.start();
    await eventually(() => seen.length === 4);
    consumer.seek(topic, 0, 2n);
    await eventually(() => seen.length === 6);
    expect(seen.slice(4)).toEqual(['2', '3']);
  });

  it('delivers a refused batch again, without what was done of it (B106)', async () => {
    const topic = await topicWith(numbers(0, 3));
    const seen: string[][] = [];
    const onBatch = (batch: ConsumedBatch): Promise<void> => {
      seen.push(batch.messages.map(text));
      if (seen.length === 1) {
        batch.done(0n);
        return Promise.reject(new Error('refused'));
      }
      return Promise.resolve();
    };
    await consume(topic, onBatch).start();
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([numbers(0, 3), numbers(1, 3)]);
  });

  it('waits for a topic that nobody has made yet', async () => {
    const topic = `baton.default.tasks.${unique('late')}`;
    const { seen, onBatch } = collector();
    const starting = consume(topic, onBatch, { createTopics: false }).start();
    await producer.ensureTopic(topic, { partitions: 1, replicationFactor: 1 });
    await write(topic, ['a']);
    await starting;
    await eventually(() => seen.length === 1);
  });

  it('makes its topic when it may', async () => {
    const topic = `baton.default.tasks.${unique('made')}`;
    await consume(topic, () => Promise.resolve(), { createTopics: { partitions: 3, replicationFactor: 1 } }).start();
    expect(await producer.metadata(topic)).toEqual({ partitions: 3 });
  });
});

describe('A stop', () => {
  const never = (): Promise<void> => new Promise(() => undefined);
  const options = async (extra: Partial<BusConsumerOptions> = {}): Promise<BusConsumerOptions> => ({
    brokers: [await kafkaBrokers()],
    clientId: 'stop-spec',
    groupId: unique('group'),
    topics: [`baton.default.tasks.${unique('s')}`],
    sessionTimeoutMs: 6000,
    onBatch: never,
    ...extra,
  });

  it.each([0, 5, 50, 200])('during the start, after %d ms, ends it soon (B109)', async (afterMs) => {
    const consumer = createBusConsumer(await options());
    const started = consumer.start().then(
      () => 'started',
      () => 'refused',
    );
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    const stoppedAfter = performance.now();
    await consumer.stop();
    expect(performance.now() - stoppedAfter).toBeLessThan(5000);
    expect(['started', 'refused']).toContain(await started);
    expect(consumer.health().joined).toBe(false);
  });

  it('while the brokers are away ends the start', async () => {
    const consumer = createBusConsumer(await options({ brokers: ['127.0.0.1:1'] }));
    const started = consumer.start();
    await consumer.stop();
    await expect(started).rejects.toThrow('stopped');
  });

  it('while another member holds up the rebalance does not wait for it (B109)', async () => {
    const shared = await options({ rebalanceTimeoutMs: 30_000 });
    const busy = createBusConsumer({ ...shared, sessionTimeoutMs: 30_000, onBatch: never });
    await busy.start();
    // Frozen as far as the group knows: its heartbeats come each 7.5 s, so the join below waits.
    const joining = createBusConsumer(shared);
    const started = joining.start().catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const from = performance.now();
    await joining.stop();
    expect(performance.now() - from).toBeLessThan(5000);
    await started;
    await busy.stop();
  });

  it('before the start, and twice, is nothing special', async () => {
    const consumer = createBusConsumer(await options());
    await Promise.all([consumer.stop(), consumer.stop()]);
    await expect(consumer.start()).rejects.toThrow('stopped');
  });
});
