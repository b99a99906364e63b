import { parseTopic, partitionFor, type ConsumedMessage } from '@baton/bus-kafka';
import { millisOf } from '../instants.js';

/** What one partition holds, and which part of it was read. */
export interface PartitionWindow {
  readonly partition: number;
  /** Read from offset 0 on: whatever was ever sent is here. */
  readonly whole: boolean;
  /** When the first message that was read had been sent; null = none was read. */
  firstMs: number | null;
}

/** Clocks of relays and databases are not the same. */
const CLOCK_SLACK_MS = 2 * 60_000;
/** Ids that are kept in memory; beyond them a topic cannot be compared. */
export const MOST_MESSAGES = 3_000_000;

export interface Disorder {
  readonly runId: string;
  readonly runSeq: number;
  readonly after: number;
}

/** The ids of every message that was read, and the order of their first occurrences. */
export class TopicIndex {
  private readonly ids = new Map<string, Set<string>>();
  private readonly windows = new Map<string, readonly PartitionWindow[]>();
  private readonly lastSeqs = new Map<string, number>();
  size = 0;
  /** Partitions of which the beginning was not read: a first occurrence may lie before it. */
  partial = 0;

  open(topic: string, windows: readonly PartitionWindow[]): void {
    this.ids.set(topic, new Set());
    this.windows.set(topic, windows);
    this.partial += windows.filter((window) => !window.whole).length;
  }

  /** I8: answers the message that came before one with a lower run_seq had come for the first time. */
  add(message: ConsumedMessage): Disorder | null {
    const { topic, partition, key, headers } = message;
    const window = this.windows.get(topic)?.find((known) => known.partition === partition);
    const ids = this.ids.get(topic);
    const id = headers['id'];
    if (window === undefined || ids === undefined || id === undefined || key === null) return null;
    window.firstMs ??= message.timestampMs;
    if (ids.has(id)) return null; // what is sent twice comes late, never early
    ids.add(id);
    this.size += 1;
    const runSeq = Number(headers['run_seq']);
    const run = `${topic} ${key}`;
    const last = this.lastSeqs.get(run) ?? 0;
    this.lastSeqs.set(run, Math.max(last, runSeq));
    return window.whole && runSeq < last ? { runId: key, runSeq, after: last } : null;
  }

  /** Must this row be among the messages that were read, and is not? */
  lacks(row: {
    readonly topic: string;
    readonly id: string;
    readonly run_id: string;
    readonly created_at: string;
  }): boolean {
    const windows = this.windows.get(row.topic);
    // A topic that Kafka does not have at all.
    if (windows === undefined) return parseTopic(row.topic) !== undefined;
    if (this.ids.get(row.topic)?.has(row.id) === true) return false;
    const own = partitionFor(row.run_id, windows.length);
    const window = windows.find((known) => known.partition === own);
    if (window === undefined || window.whole) return true;
    // Kafka or the doctor left out the beginning: only what was written after it must be here.
    return window.firstMs !== null && millisOf(row.created_at) > window.firstMs + CLOCK_SLACK_MS;
  }
}
