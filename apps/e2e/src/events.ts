import { randomUUID } from 'node:crypto';
import { eventually } from '@baton/testkit';
import { Kafka, logLevel, type KafkaMessage } from 'kafkajs';

export interface PublishedEvent {
  readonly type: string;
  readonly key: string;
  readonly id: string;
  readonly runSeq: number;
}

/** Reads a topic from its beginning until `enough` says so: what any subscriber would see. */
export async function readTopic(
  brokers: string,
  topic: string,
  enough: (events: readonly PublishedEvent[]) => boolean,
): Promise<readonly PublishedEvent[]> {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `e2e-${randomUUID()}` });
  const events: PublishedEvent[] = [];
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: ({ message }) => {
        events.push(eventOf(message));
        return Promise.resolve();
      },
    });
    await eventually(() => enough(events), { timeoutMs: 30_000, what: `enough events in ${topic}` });
    return events;
  } finally {
    await consumer.disconnect();
  }
}

function eventOf(message: KafkaMessage): PublishedEvent {
  const header = (name: string): string => message.headers?.[name]?.toString() ?? '';
  return {
    type: header('type'),
    key: message.key?.toString() ?? '',
    id: header('id'),
    runSeq: Number(header('run_seq')),
  };
}
