import type { BusLog } from './log.js';

/** How to reach the brokers; the same for producers and consumers. */
export interface BusConnection {
  /** host:port, at least one. */
  readonly brokers: readonly string[];
  /** Shown in the brokers' logs and quotas. */
  readonly clientId: string;
  readonly log?: BusLog;
}

/** What a topic is created with when it is missing (R28: topics of new queues are made on first use). */
export interface TopicLayout {
  readonly partitions: number;
  readonly replicationFactor: number;
}

export const defaultTopicLayout: TopicLayout = { partitions: 4, replicationFactor: 1 };
