import {
  createLaneProducer,
  partitionFor,
  type BusConnection,
  type ConsumedMessage,
  type LaneProducer,
} from '@baton/bus-kafka';
import { backoffMs } from '@baton/execution';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerLogger } from '../logger.js';

export interface DeadLetterOptions {
  readonly connection: BusConnection;
  readonly namespace: string;
  readonly logger: WorkerLogger;
}

const TRIES = 8;

/**
 * Keeps messages that no worker can read in `baton.<namespace>.dead` (B106), so that the partition moves on and a
 * person can look. The producer is opened with the first one: most workers never need it.
 */
export class DeadLetters {
  private producer: LaneProducer | undefined;

  constructor(private readonly options: DeadLetterOptions) {}

  /** Never rejects: of a message that cannot be kept either, the log says where it is as long as Kafka keeps it. */
  async bury(message: ConsumedMessage, reason: string): Promise<void> {
    const place = { topic: message.topic, partition: message.partition, offset: String(message.offset) };
    this.options.logger.error({ ...place, reason }, 'a message cannot be read; it goes to the dead letters');
    let failure: unknown;
    for (let tried = 0; tried < TRIES; tried += 1) {
      try {
        return await this.send(message, reason);
      } catch (error) {
        // A topic that was made a moment ago may not be hosted yet.
        failure = error;
        await sleep(backoffMs(tried, 100, 2_000));
      }
    }
    this.options.logger.error(
      { ...place, reason, err: failure },
      'the dead letter could not be stored; it stays there',
    );
  }

  async close(): Promise<void> {
    await this.producer?.close();
  }

  private async send(message: ConsumedMessage, reason: string): Promise<void> {
    const topic = `baton.${this.options.namespace}.dead`;
    this.producer ??= createLaneProducer(this.options.connection);
    const { partitions } = await this.producer.ensureTopic(topic, { partitions: 1, replicationFactor: 1 });
    const key = message.key ?? '';
    const headers = {
      ...message.headers,
      'dead-reason': reason,
      'dead-topic': message.topic,
      'dead-partition': String(message.partition),
      'dead-offset': String(message.offset),
    };
    await this.producer.sendLane(topic, partitionFor(key, partitions), [{ key, value: message.value, headers }]);
  }
}
