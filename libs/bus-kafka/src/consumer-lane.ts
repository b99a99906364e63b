import type { KafkaMessage } from 'kafkajs';
import type { ConsumedBatch, ConsumedMessage } from './consumer-port.js';
import { OffsetTracker } from './offset-tracker.js';

export const laneKey = (topic: string, partition: number): string => `${topic}/${partition}`;

/** One assignment of one topic-partition: from a join of the group (or a seek) to the next. */
export class ConsumerLane {
  readonly tracker = new OffsetTracker();
  private readonly ending = new AbortController();

  constructor(
    readonly topic: string,
    readonly partition: number,
  ) {}

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** What was handed out and is not done comes again, to whoever owns the partition then. */
  end(): void {
    this.ending.abort();
  }

  /** null = everything in it is done already (the batch came again). */
  batchOf(messages: readonly KafkaMessage[], lag: bigint): ConsumedBatch | null {
    const fresh: ConsumedMessage[] = [];
    for (const message of messages) {
      const offset = BigInt(message.offset);
      this.tracker.deliver(offset);
      if (!this.tracker.isDone(offset)) fresh.push(consumedMessage(this.topic, this.partition, message));
    }
    if (fresh.length === 0) return null;
    const done = (offset: bigint): void => {
      if (!this.signal.aborted) this.tracker.done(offset);
    };
    return { topic: this.topic, partition: this.partition, messages: fresh, lag, signal: this.signal, done };
  }
}

export function consumedMessage(topic: string, partition: number, message: KafkaMessage): ConsumedMessage {
  return {
    topic,
    partition,
    offset: BigInt(message.offset),
    key: message.key === null ? null : message.key.toString('utf8'),
    value: message.value,
    headers: headersOf(message),
    timestampMs: Number(message.timestamp),
  };
}

function headersOf(message: KafkaMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) headers[name] = last.toString('utf8');
  }
  return headers;
}
