import { randomUUID } from 'node:crypto';
import { eventually } from '@baton/testkit';
import { Kafka, logLevel, type KafkaMessage } from 'kafkajs';
import type { MessageRecord } from './audit/records.js';

export interface PublishedEvent {
  readonly type: string;
  readonly key: string;
  readonly id: string;
  readonly runSeq: number;
}

export interface ReadUntil {
  readonly enough: (messages: readonly MessageRecord[]) => boolean;
  readonly timeoutMs: number;
}

/** Reads a topic from its beginning until `enough` says so: what any subscriber would see. */
export async function readTopic(
  brokers: string,
  topic: string,
  enough: (events: readonly PublishedEvent[]) => boolean,
): Promise<readonly PublishedEvent[]> {
  const whole = new RegExp(`^${topic.replaceAll('.', '\\.')}$`);
  const events = await readTopics(brokers, whole, { enough, timeoutMs: 30_000 });
  if (!enough(events)) throw new Error(`not enough events in ${topic}: ${events.length}`);
  return events;
}

/**
 * Reads all topics of a name from their beginning until `enough` says so, or time is up, and then to the ends that the
 * topics have by then: what came again after the last message that was waited for is read too. In the order of offsets
 * within each partition.
 */
export async function readTopics(brokers: string, name: RegExp, until: ReadUntil): Promise<readonly MessageRecord[]> {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const consumer = kafka.consumer({ groupId: `e2e-${randomUUID()}` });
  const messages: MessageRecord[] = [];
  const positions = new Map<string, bigint>();
  await Promise.all([admin.connect(), consumer.connect()]);
  try {
    const topics = (await admin.listTopics()).filter((topic) => name.test(topic));
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: ({ topic, partition, message }) => {
        messages.push(recordOf(topic, partition, message));
        positions.set(`${topic}/${partition}`, BigInt(message.offset) + 1n);
        return Promise.resolve();
      },
    });
    const { timeoutMs } = until;
    await eventually(() => until.enough(messages), { timeoutMs, intervalMs: 200 }).catch(() => undefined);
    const ends = await Promise.all(
      topics.map(async (topic) => ({ topic, partitions: await admin.fetchTopicOffsets(topic) })),
    );
    const isAtEnd = (): boolean =>
      ends.every(({ topic, partitions }) =>
        partitions.every(({ partition, high }) => (positions.get(`${topic}/${partition}`) ?? 0n) >= BigInt(high)),
      );
    await eventually(isAtEnd, { timeoutMs: 60_000, what: 'the ends of the topics' });
    return messages;
  } finally {
    await Promise.all([admin.disconnect(), consumer.disconnect()]);
  }
}

function recordOf(topic: string, partition: number, message: KafkaMessage): MessageRecord {
  const header = (name: string): string => message.headers?.[name]?.toString() ?? '';
  return {
    topic,
    partition,
    type: header('type'),
    key: message.key?.toString() ?? '',
    id: header('id'),
    runSeq: Number(header('run_seq')),
    value: message.value?.toString() ?? '',
  };
}
