import type { DeadReason } from './publishing.js';

/** What the relay counts. Called often: cheap, and never throws. */
export interface RelayMetrics {
  published(topic: string, rows: number): void;
  retried(code: string): void;
  died(reason: DeadReason): void;
  ackMismatch(): void;
  sendSeconds(seconds: number): void;
  /** From the commit of the oldest row, by the database's clock, to its acknowledgement, by ours. */
  commitToAckSeconds(seconds: number): void;
  sessionStarted(): void;
  sessionFailed(): void;
  caughtUp(): void;
}

const ignore = (): void => undefined;

export const noMetrics: RelayMetrics = {
  published: ignore,
  retried: ignore,
  died: ignore,
  ackMismatch: ignore,
  sendSeconds: ignore,
  commitToAckSeconds: ignore,
  sessionStarted: ignore,
  sessionFailed: ignore,
  caughtUp: ignore,
};
