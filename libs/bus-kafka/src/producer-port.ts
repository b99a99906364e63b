import type { BusConnection, TopicLayout } from './connection.js';

export interface LaneMessage {
  readonly key: string;
  readonly value: Buffer | string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** Success is exactly one acknowledgement, for the lane that was asked, without an error. */
export interface LaneAck {
  readonly baseOffset: bigint;
}

/**
 * One attempt each: callers repeat the same batch on failure, so that at most one request is in flight per
 * topic-partition and nothing overtakes (ADR 0003). Every rejection is a `BusError`.
 */
export interface LaneProducer {
  /** Sends to one topic-partition, acks of all in-sync replicas. */
  sendLane(topic: string, partition: number, messages: readonly LaneMessage[]): Promise<LaneAck>;
  /** Number of partitions; rejects with `unknown-topic` when the topic does not exist. */
  metadata(topic: string): Promise<{ readonly partitions: number }>;
  /** Creates the topic if it is missing and returns the number of partitions that it has. */
  ensureTopic(topic: string, layout: TopicLayout): Promise<{ readonly partitions: number; readonly created: boolean }>;
  /** Cuts the connections: what is in flight rejects. */
  close(): Promise<void>;
}

/** For metrics. Called often: must be cheap and must not throw. */
export interface ProducerHooks {
  sent?(topic: string, messages: number, ms: number): void;
  failed?(topic: string, code: string): void;
  /** The client called a send a success without an acknowledgement for its lane. Must stay 0. */
  ackMismatch?(topic: string): void;
}

export interface LaneProducerOptions extends BusConnection {
  /** Time for one request. Default 10000. */
  readonly requestTimeoutMs?: number;
  readonly hooks?: ProducerHooks;
}
