import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { Client } from 'pg';
import { median } from './stats.js';

const SAMPLES = 200;

/** p50 of a durable one-row commit on this server. */
export async function commitFloorMs(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      'CREATE TABLE IF NOT EXISTS public.bench_floor (id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz)',
    );
    const samples: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      const startedAt = performance.now();
      await client.query({ name: 'floor', text: 'INSERT INTO public.bench_floor (at) VALUES (clock_timestamp())' });
      samples.push(performance.now() - startedAt);
    }
    return median(samples);
  } finally {
    await client.end();
  }
}

/** p50 from the send of one message to its arrival in a consumer, acks = all, with bare kafkajs. */
export async function produceToConsumeFloorMs(brokers: string): Promise<number> {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const topic = `bench-floor-${randomUUID().slice(0, 8)}`;
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
  const consumer = kafka.consumer({ groupId: topic, minBytes: 1, maxWaitTimeInMs: 5_000 });
  const arrivals = new Map<string, (at: number) => void>();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachMessage: ({ message }) => {
      arrivals.get(message.value?.toString() ?? '')?.(performance.now());
      return Promise.resolve();
    },
  });
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const samples: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const value = String(sample);
    const arrived = new Promise<number>((resolve) => arrivals.set(value, resolve));
    const startedAt = performance.now();
    await producer.send({ topic, acks: -1, messages: [{ key: 'k', value }] });
    samples.push((await arrived) - startedAt);
  }
  await Promise.allSettled([consumer.disconnect(), producer.disconnect()]);
  // The first messages meet a group that is still joining.
  return median(samples.slice(SAMPLES / 4));
}
