import type { BusConnection, TopicLayout } from './connection.js';

/** One message as it was read. Headers are decoded as UTF-8; the value stays bytes. */
export interface ConsumedMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: string | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** When the producer wrote it, by its clock. */
  readonly timestampMs: number;
}

/** Messages of one topic-partition, in order of offset. */
export interface ConsumedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly ConsumedMessage[];
  /** Messages in the partition after the last one of this batch. */
  readonly lag: bigint;
  /**
   * Aborted when the partition is taken away or the consumer stops or seeks back: what is not done by then
   * is delivered again, here or to another member.
   */
  readonly signal: AbortSignal;
  /**
   * This message needs no second delivery. Call it in any order and at any time, also after `onBatch` has
   * returned; the committed offset is the end of the contiguous prefix (R10). Ignored once `signal` is aborted.
   */
  done(offset: bigint): void;
}

export interface BusConsumerOptions extends BusConnection {
  readonly groupId: string;
  readonly topics: readonly string[];
  /**
   * Takes a batch. The next batch of the same broker is fetched when the promise resolves, so that not
   * resolving is the way to hold fetching back without delay on release (slots full); heartbeats go on
   * meanwhile. A rejection stops nothing: it is logged and the batch is delivered again.
   */
  onBatch(batch: ConsumedBatch): Promise<void>;
  /** Missing topics are created with this layout; false = wait until somebody creates them. */
  readonly createTopics?: TopicLayout | false;
  /** How often offsets are committed. Default 1000. */
  readonly commitIntervalMs?: number;
  /** Default 6000: how soon the partitions of a killed member move on, also its own when its broker was away. */
  readonly sessionTimeoutMs?: number;
  /** Default 60000: how long a rebalance waits for a member to let go of its batches. */
  readonly rebalanceTimeoutMs?: number;
  /** Longest wait of a fetch without data, and the delay of `resume`. Default 250. */
  readonly maxWaitMs?: number;
  readonly hooks?: ConsumerHooks;
}

/** For metrics. Called often: must be cheap and must not throw. */
export interface ConsumerHooks {
  batch?(topic: string, partition: number, messages: number, lag: bigint): void;
  committed?(topic: string, partition: number, offset: bigint): void;
  joined?(assignment: Readonly<Record<string, readonly number[]>>): void;
  rebalancing?(): void;
  crashed?(code: string): void;
}

export interface ConsumerHealth {
  /** Member of the group, with an assignment (which may be empty). */
  readonly joined: boolean;
  /** performance.now() of the last fetch that came back. */
  readonly lastFetchAt: number | null;
  readonly assignment: Readonly<Record<string, readonly number[]>>;
}

export interface BusConsumer {
  /**
   * Resolves once the group is joined. Keeps trying while brokers are away; rejects only when `stop` is called
   * first. A new group begins at the start of the topic (R26).
   */
  start(): Promise<void>;
  /**
   * Stops fetching, commits what is done, leaves the group. May be called at any time, also before `start` has
   * resolved (B109), and more than once.
   */
  stop(): Promise<void>;
  /** Stops fetching from one topic-partition; batches already handed out stay. Survives a rebalance. */
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  /** Deliver again from this offset; open batches of the topic-partition are aborted. */
  seek(topic: string, partition: number, offset: bigint): void;
  /** Commits what is done now instead of at the next tick of the timer. */
  commit(): Promise<void>;
  health(): ConsumerHealth;
}
