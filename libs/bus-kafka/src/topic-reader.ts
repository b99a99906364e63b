import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, EachBatchPayload } from 'kafkajs';
import type { BusConnection } from './connection.js';
import type { ConsumedMessage } from './consumer-port.js';
import { consumedMessage } from './consumer-lane.js';
import { BusError, toBusError } from './errors.js';
import { createKafkaClient, type KafkaClient } from './kafkajs/client.js';

/** What a partition holds now: from `low` up to, and without, `high`. */
export interface PartitionRange {
  readonly topic: string;
  readonly partition: number;
  readonly low: bigint;
  readonly high: bigint;
}

/** The next ones are fetched when it resolves. */
export type OnMessages = (messages: readonly ConsumedMessage[]) => Promise<void>;

/** Reads topics from outside, once, and leaves nothing behind: no committed offset and no group. */
export interface TopicReader {
  listTopics(): Promise<readonly string[]>;
  ranges(topic: string): Promise<readonly PartitionRange[]>;
  /** Hands out every message of the ranges, in order within each partition, and resolves at their ends. */
  read(ranges: readonly PartitionRange[], onMessages: OnMessages): Promise<void>;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 15_000;
const STALLED_AFTER_MS = 30_000;
const STALL_POLL_MS = 1_000;
const MAX_TRIES = 5;
const PAUSE_MS = 200;

export function createTopicReader(connection: BusConnection): TopicReader {
  return new KafkaTopicReader(connection);
}

class KafkaTopicReader implements TopicReader {
  private readonly client: KafkaClient;
  private readonly admin: Admin;
  private connected: Promise<void> | null = null;

  constructor(connection: BusConnection) {
    this.client = createKafkaClient(connection, { requestTimeoutMs: REQUEST_TIMEOUT_MS, retries: 2 });
    this.admin = this.client.kafka.admin();
  }

  async listTopics(): Promise<readonly string[]> {
    return this.asked(() => this.admin.listTopics());
  }

  async ranges(topic: string): Promise<readonly PartitionRange[]> {
    const offsets = await this.asked(() => this.admin.fetchTopicOffsets(topic));
    return offsets.map(({ partition, low, high }) => ({ topic, partition, low: BigInt(low), high: BigInt(high) }));
  }

  async read(ranges: readonly PartitionRange[], onMessages: OnMessages): Promise<void> {
    const filled = ranges.filter((range) => range.high > range.low);
    if (filled.length === 0) return;
    const groupId = `baton-reader-${randomBytes(8).toString('hex')}`;
    const reading = new Reading(this.client, groupId, filled, onMessages);
    try {
      await reading.run();
    } catch (error) {
      throw reading.refused ? error : toBusError(error);
    } finally {
      // The broker forgets an empty group after a while anyway.
      await this.admin.deleteGroups([groupId]).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await this.admin.disconnect().catch(() => undefined);
    this.client.destroySockets();
  }

  private async asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      this.connected ??= this.admin.connect();
      await this.connected;
      return await ask();
    } catch (error) {
      throw toBusError(error);
    }
  }
}

/** One pass over some ranges. kafkajs reads through groups alone, so the pass has one of its own. */
class Reading {
  private readonly left = new Map<string, PartitionRange>();
  private ended = Promise.withResolvers<void>();
  private lastProgress = performance.now();
  /** The receiver failed: reading again would not help. */
  refused = false;

  constructor(
    private readonly client: KafkaClient,
    private readonly groupId: string,
    ranges: readonly PartitionRange[],
    private readonly onMessages: OnMessages,
  ) {
    for (const range of ranges) this.left.set(keyOf(range), range);
  }

  /** A coordinator that is not there yet, or a broker that went away: again, from where it came to. */
  async run(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.attempt();
      } catch (error) {
        if (this.refused || tries >= MAX_TRIES) throw error;
      }
      await sleep(PAUSE_MS * tries);
    }
  }

  private async attempt(): Promise<void> {
    this.ended = Promise.withResolvers<void>();
    this.ended.promise.catch(() => undefined);
    this.lastProgress = performance.now();
    const consumer = this.client.kafka.consumer({
      groupId: this.groupId,
      allowAutoTopicCreation: false,
      maxWaitTimeInMs: 100,
      retry: { retries: 3, restartOnFailure: () => Promise.resolve(false) },
    });
    const watch = setInterval(() => this.watch(), STALL_POLL_MS);
    consumer.on(consumer.events.CRASH, ({ payload }) => this.ended.reject(payload.error));
    const ranges = [...this.left.values()];
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...new Set(ranges.map(({ topic }) => topic))], fromBeginning: true });
      await consumer.run({ autoCommit: false, eachBatch: (payload) => this.take(payload) });
      for (const { topic, partition, low } of ranges) {
        if (low > 0n) consumer.seek({ topic, partition, offset: low.toString() });
      }
      await this.ended.promise;
    } finally {
      clearInterval(watch);
      await consumer.disconnect().catch(() => undefined);
    }
  }

  private async take({ batch, heartbeat }: EachBatchPayload): Promise<void> {
    const { topic, partition } = batch;
    const range = this.left.get(keyOf({ topic, partition }));
    this.lastProgress = performance.now();
    if (range === undefined) return;
    let next = range.low;
    const fresh: ConsumedMessage[] = [];
    for (const message of batch.messages) {
      const offset = BigInt(message.offset);
      // What was fetched before the seek took effect comes again, or lies before the range.
      if (offset < range.low || offset >= range.high) continue;
      next = offset + 1n;
      fresh.push(consumedMessage(topic, partition, message));
    }
    if (fresh.length > 0) await this.handOut(fresh);
    // Records that are no messages (markers of transactions) count too.
    const seen = BigInt(batch.lastOffset()) + 1n;
    if (seen > next && seen > range.low) next = seen;
    if (next >= range.high) this.left.delete(keyOf(range));
    else this.left.set(keyOf(range), { ...range, low: next });
    this.lastProgress = performance.now();
    if (this.left.size === 0) this.ended.resolve();
    else await heartbeat();
  }

  private async handOut(messages: readonly ConsumedMessage[]): Promise<void> {
    try {
      await this.onMessages(messages);
    } catch (error) {
      this.refused = true;
      this.ended.reject(error);
      throw error;
    }
  }

  private watch(): void {
    if (performance.now() - this.lastProgress < STALLED_AFTER_MS) return;
    const [range] = this.left.values();
    const where = range === undefined ? '' : ` of ${range.topic}, partition ${range.partition}`;
    this.ended.reject(new BusError('retry', 'STALLED', `nothing more${where} could be read`));
  }
}

const keyOf = (range: { readonly topic: string; readonly partition: number }): string =>
  `${range.topic} ${range.partition}`;
