import { randomBytes } from 'node:crypto';
import { createBusConsumer } from '../consumer.js';

export interface ReadMessage {
  readonly partition: number;
  readonly offset: bigint;
  readonly key: string | null;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The first `count` messages of a topic, from the beginning, with a group of its own. */
export async function readAll(brokers: string, topic: string, count: number): Promise<readonly ReadMessage[]> {
  const read: ReadMessage[] = [];
  const enough = Promise.withResolvers<void>();
  const consumer = createBusConsumer({
    brokers: [brokers],
    clientId: 'read-all',
    groupId: `read-all-${randomBytes(6).toString('hex')}`,
    topics: [topic],
    createTopics: false,
    onBatch: (batch) => {
      for (const { partition, offset, key, value, headers } of batch.messages) {
        read.push({ partition, offset, key, value: value?.toString('utf8') ?? '', headers });
      }
      if (read.length >= count) enough.resolve();
      return Promise.resolve();
    },
  });
  await consumer.start();
  await enough.promise;
  await consumer.stop();
  return read;
}
