import { randomBytes } from 'node:crypto';
import { eventually, kafkaBrokers } from '@baton/testkit';
import { Kafka, logLevel } from 'kafkajs';
import type { BusError } from './errors.js';
import { createLaneProducer } from './producer.js';
import type { LaneMessage, LaneProducer, ProducerHooks } from './producer-port.js';
import { readAll } from './testing/read-topic.js';

const layout = { partitions: 2, replicationFactor: 1 };
const newTopic = (): string => `baton.default.tasks.p-${randomBytes(6).toString('hex')}`;
const message = (key: string, value: string): LaneMessage => ({ key, value, headers: { id: value } });

describe('The lane producer', () => {
  let brokers: string;
  let producer: LaneProducer;
  const counts = { sent: 0, failed: [] as string[], mismatches: 0 };
  const hooks: ProducerHooks = {
    sent: (_topic, messages) => (counts.sent += messages),
    failed: (_topic, code) => counts.failed.push(code),
    ackMismatch: () => (counts.mismatches += 1),
  };
  const refusal = (work: Promise<unknown>): Promise<BusError> =>
    work.then(
      () => Promise.reject(new Error('nothing was refused')),
      (error: unknown) => error as BusError,
    );

  /** Repeated, as callers do: a topic made a moment ago may have no leader yet. */
  const send = (topic: string, partition: number, messages: readonly LaneMessage[]) =>
    eventually(() => producer.sendLane(topic, partition, messages));

  beforeAll(async () => {
    brokers = await kafkaBrokers();
    producer = createLaneProducer({ brokers: [brokers], clientId: 'producer-spec', hooks });
  });

  afterAll(() => producer.close());

  it('writes to the lane that it is told, in order, with key and headers', async () => {
    const topic = newTopic();
    await producer.ensureTopic(topic, layout);
    const first = await send(topic, 1, [message('k', 'a'), message('k', 'b')]);
    const second = await producer.sendLane(topic, 1, [message('other', 'c')]);
    expect([first.baseOffset, second.baseOffset]).toEqual([0n, 2n]);
    const read = await readAll(brokers, topic, 3);
    expect(read.map(({ partition, key, value, headers }) => [partition, key, value, headers])).toEqual([
      [1, 'k', 'a', { id: 'a' }],
      [1, 'k', 'b', { id: 'b' }],
      [1, 'other', 'c', { id: 'c' }],
    ]);
    expect(counts.sent).toBe(3);
  });

  it('makes a topic once, with the layout that is asked for', async () => {
    const topic = newTopic();
    expect((await refusal(producer.metadata(topic))).kind).toBe('unknown-topic');
    const made = await Promise.all([1, 2, 3].map(() => producer.ensureTopic(topic, layout)));
    expect(made.map(({ partitions }) => partitions)).toEqual([2, 2, 2]);
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    expect(await producer.metadata(topic)).toEqual({ partitions: 2 });
    expect(await producer.ensureTopic(topic, { partitions: 9, replicationFactor: 1 })).toEqual({
      partitions: 2,
      created: false,
    });
  });

  it('says which failures are for ever', async () => {
    const topic = newTopic();
    expect((await refusal(producer.sendLane(topic, 0, [message('k', 'a')]))).kind).toBe('unknown-topic');
    await producer.ensureTopic(topic, layout);
    await send(topic, 0, [message('k', 'a')]);
    const big = message('k', 'x'.repeat(1_100_000));
    expect(await refusal(producer.sendLane(topic, 0, [big]))).toMatchObject({
      kind: 'too-large',
      code: 'MESSAGE_TOO_LARGE',
    });
    expect((await refusal(producer.sendLane('not a topic', 0, [message('k', 'a')]))).kind).toBe('invalid-topic');
    await producer.sendLane(topic, 0, [message('k', 'a')]);
  });

  it('does not take a send for a success that went nowhere', async () => {
    const topic = newTopic();
    await producer.ensureTopic(topic, layout);
    await send(topic, 0, [message('k', 'a')]);
    const before = counts.mismatches;
    expect(await refusal(producer.sendLane(topic, 7, [message('k', 'a')]))).toMatchObject({
      kind: 'retry',
      code: 'ACK_MISMATCH',
    });
    expect(counts.mismatches).toBe(before + 1);
  });

  it('goes on with other topics when one is deleted', async () => {
    const [kept, deleted] = [newTopic(), newTopic()];
    for (const topic of [kept, deleted]) {
      await producer.ensureTopic(topic, layout);
      await send(topic, 0, [message('k', 'a')]);
    }
    const admin = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [deleted] });
    await admin.disconnect();
    await refusal(producer.sendLane(deleted, 0, [message('k', 'b')]));
    expect((await producer.sendLane(kept, 0, [message('k', 'b')])).baseOffset).toBe(1n);
    await producer.ensureTopic(deleted, layout);
    expect((await send(deleted, 0, [message('k', 'c')])).baseOffset).toBe(0n);
  });

  it('refuses what comes after its close', async () => {
    const closed = createLaneProducer({ brokers: [brokers], clientId: 'closed' });
    const sending = refusal(closed.sendLane(newTopic(), 0, [message('k', 'a')]));
    await closed.close();
    await sending;
    expect((await refusal(closed.sendLane(newTopic(), 0, [message('k', 'a')]))).code).toBe('CLOSED');
  });
});
