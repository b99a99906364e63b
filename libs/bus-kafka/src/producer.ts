import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Message, Producer, RecordMetadata } from 'kafkajs';
import type { TopicLayout } from './connection.js';
import { BusError, toBusError } from './errors.js';
import { createKafkaClient, type KafkaClient } from './kafkajs/client.js';
import type { LaneAck, LaneMessage, LaneProducer, LaneProducerOptions } from './producer-port.js';

/*
 * Owns: one kafkajs producer. Does not own: retries, order between calls, which partition a key belongs to.
 *
 * kafkajs can resolve a send of several partitions without having sent all of them (ADR 0003), and an
 * idempotent producer can have a repeated batch acknowledged without storing it. So: one topic-partition per
 * send, not idempotent, no retries inside, and a success only with the acknowledgement of that very partition.
 */

const NEW_TOPIC_WAIT_MS = 5000;
const NEW_TOPIC_POLL_MS = 50;
const ACKS_ALL = -1;

interface Connected {
  readonly client: KafkaClient;
  readonly producer: Producer;
  inFlight: number;
  retired: boolean;
}

class KafkaLaneProducer implements LaneProducer {
  private connected: Connected | null = null;
  private connecting: Promise<Connected> | null = null;
  private closed = false;

  constructor(private readonly options: LaneProducerOptions) {}

  async sendLane(topic: string, partition: number, messages: readonly LaneMessage[]): Promise<LaneAck> {
    const startedAt = performance.now();
    let connection: Connected | null = null;
    try {
      connection = this.connected ?? (await this.connect());
      connection.inFlight += 1;
      const records = await connection.producer.send({
        topic,
        acks: ACKS_ALL,
        timeout: this.requestTimeoutMs,
        messages: messages.map((message): Message => ({ ...message, partition })),
      });
      const ack = this.acknowledged(records, topic, partition);
      this.options.hooks?.sent?.(topic, messages.length, performance.now() - startedAt);
      return ack;
    } catch (error) {
      const failure = toBusError(error);
      this.options.hooks?.failed?.(topic, failure.code);
      // kafkajs asks for the metadata of all topics it ever wrote: one that was deleted would fail every lane.
      if (failure.kind === 'unknown-topic' && connection !== null) this.retire(connection);
      throw failure;
    } finally {
      if (connection !== null) {
        connection.inFlight -= 1;
        if (connection.retired && connection.inFlight === 0) await this.disconnect(connection);
      }
    }
  }

  async metadata(topic: string): Promise<{ readonly partitions: number }> {
    return this.withAdmin((admin) => partitionsOf(admin, topic));
  }

  async ensureTopic(
    topic: string,
    layout: TopicLayout,
  ): Promise<{ readonly partitions: number; readonly created: boolean }> {
    return this.withAdmin((admin) => ensureTopic(admin, topic, layout));
  }

  async close(): Promise<void> {
    this.closed = true;
    const open = this.connected ?? (await this.connecting?.catch(() => null)) ?? null;
    this.connected = null;
    if (open !== null) await this.disconnect(open);
  }

  private get requestTimeoutMs(): number {
    return this.options.requestTimeoutMs ?? 10_000;
  }

  private async connect(): Promise<Connected> {
    if (this.closed) throw new BusError('retry', 'CLOSED', 'the producer is closed');
    this.connecting ??= this.open().finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  private async open(): Promise<Connected> {
    const client = createKafkaClient(this.options, { requestTimeoutMs: this.requestTimeoutMs, retries: 1 });
    const producer = client.kafka.producer({
      allowAutoTopicCreation: false,
      idempotent: false,
      retry: { retries: 0 },
      createPartitioner: () => (args) => args.message.partition ?? 0,
    });
    try {
      await producer.connect();
    } catch (error) {
      client.destroySockets();
      throw error;
    }
    const connection: Connected = { client, producer, inFlight: 0, retired: false };
    if (this.closed) {
      await this.disconnect(connection);
      throw new BusError('retry', 'CLOSED', 'the producer is closed');
    }
    this.connected = connection;
    return connection;
  }

  private acknowledged(records: readonly RecordMetadata[], topic: string, partition: number): LaneAck {
    const [record] = records;
    const exact = records.length === 1 && record?.topicName === topic && record.partition === partition;
    if (exact && record.errorCode === 0 && record.baseOffset !== undefined) {
      return { baseOffset: BigInt(record.baseOffset) };
    }
    this.options.hooks?.ackMismatch?.(topic);
    throw new BusError('retry', 'ACK_MISMATCH', `no acknowledgement for ${topic}/${partition}`);
  }

  private retire(connection: Connected): void {
    connection.retired = true;
    if (this.connected === connection) this.connected = null;
  }

  private async disconnect(connection: Connected): Promise<void> {
    // First the sockets: a request in flight would hold the disconnect up until its timeout. Then again what
    // a failing send has reconnected meanwhile.
    connection.client.destroySockets();
    await connection.producer.disconnect().catch(() => undefined);
    connection.client.destroySockets();
  }

  private async withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const client = createKafkaClient(this.options, { requestTimeoutMs: this.requestTimeoutMs, retries: 1 });
    const admin = client.kafka.admin();
    try {
      await admin.connect();
      return await work(admin);
    } catch (error) {
      throw toBusError(error);
    } finally {
      await admin.disconnect().catch(() => undefined);
      client.destroySockets();
    }
  }
}

async function partitionsOf(admin: Admin, topic: string): Promise<{ readonly partitions: number }> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const found = topics.find((candidate) => candidate.name === topic);
  if (found === undefined || found.partitions.length === 0) {
    throw new BusError('unknown-topic', 'UNKNOWN_TOPIC_OR_PARTITION', `topic ${topic} does not exist`);
  }
  return { partitions: found.partitions.length };
}

/** Looks, creates, and waits until the new topic is known and has leaders: brokers learn of it one by one. */
export async function ensureTopic(
  admin: Admin,
  topic: string,
  layout: TopicLayout,
): Promise<{ readonly partitions: number; readonly created: boolean }> {
  try {
    return { ...(await partitionsOf(admin, topic)), created: false };
  } catch (error) {
    if (toBusError(error).kind !== 'unknown-topic') throw error;
  }
  const created = await admin.createTopics({
    // kafkajs gives up on a broker that has not heard of the topic yet; below is the wait.
    waitForLeaders: false,
    timeout: NEW_TOPIC_WAIT_MS,
    topics: [{ topic, numPartitions: layout.partitions, replicationFactor: layout.replicationFactor }],
  });
  const deadline = performance.now() + NEW_TOPIC_WAIT_MS;
  for (;;) {
    try {
      return { ...(await partitionsOf(admin, topic)), created };
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(NEW_TOPIC_POLL_MS);
    }
  }
}

export function createLaneProducer(options: LaneProducerOptions): LaneProducer {
  return new KafkaLaneProducer(options);
}
