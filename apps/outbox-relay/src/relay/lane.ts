import { BusError, type LaneMessage, type LaneProducer, type TopicLayout } from '@baton/bus-kafka';
import { Patience, SessionOver, type Guard } from './patience.js';
import { messageOf, placeholderOf, readHeaders, type DeadReason, type Entry } from './publishing.js';

/*
 * Owns: the order within one topic-partition. One request in flight; what was queued meanwhile is the next batch, so
 * a quiet lane sends at once and a busy one batches by itself. No timer lingers.
 *
 * L3  a batch is repeated until it is acknowledged before anything behind it is sent, so the first occurrences in the
 *     partition are in the order of arrival. What was sent twice comes late, never early.
 * L6  every entry is settled: acknowledged, or dead with its place taken by a placeholder.
 */

export interface LaneHooks {
  published(topic: string, rows: number): void;
  retried(topic: string, code: string): void;
  died(topic: string, reason: DeadReason): void;
}

export interface LaneContext {
  readonly producer: LaneProducer;
  readonly layout: TopicLayout;
  readonly guard: Guard;
  readonly hooks: LaneHooks;
  /** How many partitions of a topic are used, given how many it has now. */
  partitions(topic: string, present: number): number;
  /** Durable, in its own committed transaction, when it resolves. */
  bury(entry: Entry, reason: DeadReason): Promise<void>;
  /** Anything but SessionOver that a lane did not expect: ends the session. */
  failed(error: unknown): void;
}

export const MAX_BATCH_ROWS = 500;
export const MAX_BATCH_BYTES = 512 * 1024;
const MESSAGE_OVERHEAD_BYTES = 200;

interface Item {
  readonly entry: Entry;
  message: LaneMessage;
  readonly bytes: number;
  /** Known before it is sent: cannot be published as it is. */
  readonly defect: DeadReason | null;
  dead: boolean;
}

export class Lane {
  private readonly queue: Item[] = [];
  private head = 0;
  private sending = false;
  private scheduled = false;

  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly context: LaneContext,
  ) {}

  get depth(): number {
    return this.queue.length - this.head;
  }

  add(entry: Entry): void {
    const extra = readHeaders(entry.row.headers);
    const message = messageOf(entry.row, extra ?? {});
    const bytes = entry.row.payload.length + (entry.row.headers?.length ?? 0) + MESSAGE_OVERHEAD_BYTES;
    this.queue.push({ entry, message, bytes, defect: extra === null ? 'BAD_HEADERS' : null, dead: false });
    if (this.sending || this.scheduled) return;
    // After the current turn's parsing, not after a delay: rows of one chunk from the socket share a batch.
    this.scheduled = true;
    process.nextTick(() => {
      this.scheduled = false;
      this.drain().catch((error: unknown) => {
        if (!(error instanceof SessionOver)) this.context.failed(error);
      });
    });
  }

  private async drain(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    try {
      for (let batch = this.take(); batch.length > 0; batch = this.take()) await this.deliver(batch);
    } finally {
      this.sending = false;
    }
  }

  private take(): Item[] {
    const batch: Item[] = [];
    let bytes = 0;
    for (let item = this.queue[this.head]; item !== undefined; item = this.queue[this.head]) {
      if (batch.length > 0 && (batch.length === MAX_BATCH_ROWS || bytes + item.bytes > MAX_BATCH_BYTES)) break;
      batch.push(item);
      bytes += item.bytes;
      this.head += 1;
    }
    if (this.head === this.queue.length) {
      this.queue.length = 0;
      this.head = 0;
    } else if (this.head > 4096) {
      this.queue.splice(0, this.head);
      this.head = 0;
    }
    return batch;
  }

  /** Until it is acknowledged or dead; throws SessionOver. */
  private async deliver(batch: readonly Item[]): Promise<void> {
    const { producer, guard, hooks } = this.context;
    const patience = new Patience(guard);
    for (const item of batch) {
      if (item.defect !== null && !item.dead) await this.kill(item, item.defect);
    }
    for (;;) {
      guard.check();
      try {
        const messages = batch.map((item) => item.message);
        await producer.sendLane(this.topic, this.partition, messages);
        this.settle(batch);
        return;
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
        guard.check();
        if (await this.givesUp(batch, error)) return;
        hooks.retried(this.topic, error.code);
      }
      await patience.wait();
    }
  }

  /** true = the batch is dealt with. */
  private async givesUp(batch: readonly Item[], error: BusError): Promise<boolean> {
    switch (error.kind) {
      case 'too-large':
        await this.split(batch);
        return true;
      case 'invalid-topic':
        for (const item of batch) await this.kill(item, 'BAD_TOPIC');
        this.settle(batch);
        return true;
      case 'unknown-topic':
        // Deleted under us, or new and not known to every broker yet: make sure of it, then again.
        await this.context.producer.ensureTopic(this.topic, this.context.layout).catch(() => undefined);
        return false;
      case 'retry':
        if (error.code === 'ACK_MISMATCH') await this.checkPartition();
        return false;
    }
  }

  /** A topic that was made again with fewer partitions will never acknowledge: the routes have to be found again. */
  private async checkPartition(): Promise<void> {
    const found = await this.context.producer.metadata(this.topic).catch(() => null);
    if (found !== null && found.partitions <= this.partition) {
      throw new Error(`topic ${this.topic} has lost its partition ${this.partition}`);
    }
  }

  /** Halves keep the order; a message that is too large by itself is dead, and its placeholder goes in its place. */
  private async split(batch: readonly Item[]): Promise<void> {
    const [only] = batch;
    if (batch.length > 1) {
      const middle = batch.length >> 1;
      await this.deliver(batch.slice(0, middle));
      await this.deliver(batch.slice(middle));
    } else if (only !== undefined && !only.dead) {
      await this.kill(only, 'MESSAGE_TOO_LARGE');
      await this.deliver(batch);
    } else {
      // Not even the placeholder fits: the dead row itself is the record.
      this.settle(batch);
    }
  }

  private async kill(item: Item, reason: DeadReason): Promise<void> {
    await this.context.bury(item.entry, reason);
    item.dead = true;
    item.message = placeholderOf(item.entry.row, reason);
    this.context.hooks.died(this.topic, reason);
  }

  private settle(batch: readonly Item[]): void {
    const published = batch.reduce((count, item) => count + (item.dead ? 0 : 1), 0);
    if (published > 0) this.context.hooks.published(this.topic, published);
    for (const item of batch) item.entry.settle();
  }
}
