import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, EachBatchPayload } from 'kafkajs';
import { defaultTopicLayout } from './connection.js';
import { ConsumerLane, laneKey } from './consumer-lane.js';
import type { BusConsumerOptions, ConsumerHealth } from './consumer-port.js';
import { BusError, toBusError } from './errors.js';
import { createKafkaClient, type KafkaClient } from './kafkajs/client.js';
import { silentLog, type BusLog } from './log.js';
import { ensureTopic } from './producer.js';

/*
 * Owns: one kafkajs consumer, from connect to crash or stop, and the lanes of its current assignment.
 *
 * - kafkajs never commits by itself: it would after every batch. The timer here commits the contiguous
 *   prefix of each lane.
 * - Each join begins again at the committed offsets, for partitions that stay too; so every join ends all lanes.
 * - While a batch is held by the caller the member must go on with heartbeats, and let go when they say that
 *   the group is rebalancing.
 */

/** The least that brokers accept as shipped. */
const DEFAULT_SESSION_MS = 6000;
const DISCONNECT_MS = 3000;
const REQUEST_TIMEOUT_MS = 30_000;
const REDELIVER_AFTER_MS = 500;
const TOPIC_POLL_MS = 1000;
/** Batches of different partitions are handed out side by side. */
const PARTITIONS_AT_ONCE = 64;

type TopicPartition = { readonly topic: string; readonly partition: number };

export class GroupSession {
  readonly joined: Promise<void>;
  private readonly join = Promise.withResolvers<void>();
  private readonly log: BusLog;
  private readonly client: KafkaClient;
  private readonly consumer: Consumer;
  private readonly lanes = new Map<string, ConsumerLane>();
  private readonly ended = Promise.withResolvers<void>();
  private assignment: Readonly<Record<string, readonly number[]>> = {};
  private isMember = false;
  private closing = false;
  private lastFetchAt: number | null = null;
  private committing: Promise<void> | null = null;

  constructor(
    private readonly options: BusConsumerOptions,
    private readonly paused: () => readonly TopicPartition[],
  ) {
    this.log = options.log ?? silentLog;
    this.joined = this.join.promise;
    this.ended.promise.catch(() => undefined);
    const sessionTimeout = options.sessionTimeoutMs ?? DEFAULT_SESSION_MS;
    this.client = createKafkaClient(options, { requestTimeoutMs: REQUEST_TIMEOUT_MS, retries: 3 });
    this.consumer = this.client.kafka.consumer({
      groupId: options.groupId,
      allowAutoTopicCreation: false,
      sessionTimeout,
      heartbeatInterval: Math.floor(sessionTimeout / 4),
      rebalanceTimeout: options.rebalanceTimeoutMs ?? 60_000,
      minBytes: 1,
      maxWaitTimeInMs: options.maxWaitMs ?? 250,
      // A crash is answered with a new consumer, by the owner of this session.
      retry: { retries: 5, restartOnFailure: () => Promise.resolve(false) },
    });
    this.listen();
  }

  /** Resolves after a stop, rejects when the client has crashed. Everything is closed by then. */
  async run(stop: AbortSignal): Promise<void> {
    const committer = setInterval(() => void this.commit(), this.options.commitIntervalMs ?? 1000);
    const onStop = (): void => this.ended.resolve();
    stop.addEventListener('abort', onStop, { once: true });
    if (stop.aborted) onStop();
    try {
      const starting = this.begin(stop);
      starting.catch((error: unknown) => this.ended.reject(error));
      await this.ended.promise;
    } finally {
      stop.removeEventListener('abort', onStop);
      clearInterval(committer);
      await this.close();
    }
  }

  pause(topic: string, partition: number): void {
    if (this.isMember) this.consumer.pause([{ topic, partitions: [partition] }]);
  }

  resume(topic: string, partition: number): void {
    if (this.isMember) this.consumer.resume([{ topic, partitions: [partition] }]);
  }

  seek(topic: string, partition: number, offset: bigint): void {
    const lane = this.lanes.get(laneKey(topic, partition));
    if (lane === undefined) return;
    lane.end();
    this.lanes.set(laneKey(topic, partition), new ConsumerLane(topic, partition));
    this.consumer.seek({ topic, partition, offset: offset.toString() });
  }

  health(): ConsumerHealth {
    return { joined: this.isMember, lastFetchAt: this.lastFetchAt, assignment: this.assignment };
  }

  async commit(): Promise<void> {
    this.committing ??= this.commitDone().finally(() => {
      this.committing = null;
    });
    return this.committing;
  }

  private listen(): void {
    const { events } = this.consumer;
    this.consumer.on(events.GROUP_JOIN, ({ payload }) => this.assigned(payload.memberAssignment));
    this.consumer.on(events.REBALANCING, () => {
      this.options.hooks?.rebalancing?.();
      void this.commit();
    });
    this.consumer.on(events.FETCH, () => {
      this.lastFetchAt = performance.now();
    });
    this.consumer.on(events.CRASH, ({ payload }) => this.ended.reject(payload.error));
  }

  private async begin(stop: AbortSignal): Promise<void> {
    await this.ensureTopics(stop);
    if (stop.aborted) return;
    await this.consumer.connect();
    await this.consumer.subscribe({ topics: [...this.options.topics], fromBeginning: true });
    if (stop.aborted) return;
    await this.consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
      eachBatch: (payload) => this.eachBatch(payload),
    });
  }

  private async ensureTopics(stop: AbortSignal): Promise<void> {
    const layout = this.options.createTopics ?? defaultTopicLayout;
    const admin = this.client.kafka.admin();
    try {
      await admin.connect();
      if (layout !== false) {
        for (const topic of this.options.topics) await ensureTopic(admin, topic, layout);
        return;
      }
      let told = false;
      for (;;) {
        const present = new Set(await admin.listTopics());
        const missing = this.options.topics.filter((topic) => !present.has(topic));
        if (missing.length === 0 || stop.aborted) return;
        if (!told) this.log.warn('waiting for topics that do not exist yet', { topics: missing });
        told = true;
        await sleep(TOPIC_POLL_MS, undefined, { signal: stop }).catch(() => undefined);
      }
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }

  private assigned(assignment: Readonly<Record<string, readonly number[]>>): void {
    this.endLanes();
    this.assignment = assignment;
    this.isMember = true;
    for (const [topic, partitions] of Object.entries(assignment)) {
      for (const partition of partitions) {
        this.lanes.set(laneKey(topic, partition), new ConsumerLane(topic, partition));
      }
    }
    for (const { topic, partition } of this.paused()) {
      if (this.lanes.has(laneKey(topic, partition))) this.consumer.pause([{ topic, partitions: [partition] }]);
    }
    this.log.debug('joined the group', { group: this.options.groupId, assignment });
    this.options.hooks?.joined?.(assignment);
    this.join.resolve();
  }

  private async eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const lane = this.lanes.get(laneKey(batch.topic, batch.partition));
    if (lane === undefined || this.closing) return;
    const lag = BigInt(batch.highWatermark) - BigInt(batch.lastOffset()) - 1n;
    const consumed = lane.batchOf(batch.messages, lag > 0n ? lag : 0n);
    if (consumed !== null) {
      this.options.hooks?.batch?.(batch.topic, batch.partition, consumed.messages.length, consumed.lag);
      const taken = await this.hold(lane, payload, this.options.onBatch(consumed));
      if (!taken) return;
    }
    if (!lane.signal.aborted) payload.resolveOffset(batch.lastOffset());
  }

  /** Waits for the caller, with heartbeats. false = the batch is to be delivered again. */
  private async hold(lane: ConsumerLane, payload: EachBatchPayload, work: Promise<void>): Promise<boolean> {
    const outcome = work.then(
      () => 'taken' as const,
      (error: unknown) => {
        const fields = { topic: lane.topic, partition: lane.partition, error: String(error) };
        if (!lane.signal.aborted) this.log.error('a batch was refused and will come again', fields);
        return 'refused' as const;
      },
    );
    const beatEveryMs = Math.floor((this.options.sessionTimeoutMs ?? DEFAULT_SESSION_MS) / 8);
    for (;;) {
      const first = await firstOf(outcome, lane.signal, beatEveryMs);
      if (first === 'taken') return true;
      if (first === 'ended') return false;
      if (first === 'refused') await sleep(REDELIVER_AFTER_MS);
      await this.heartbeat(payload);
      if (first === 'refused') return false;
    }
  }

  /** Throws when the group is rebalancing: kafkajs then joins again; what is done is committed before. */
  private async heartbeat(payload: EachBatchPayload): Promise<void> {
    try {
      await payload.heartbeat();
    } catch (error) {
      await this.commit();
      throw error;
    }
  }

  private async commitDone(): Promise<void> {
    if (!this.isMember) return;
    const due = [...this.lanes.values()].flatMap((lane) => {
      const position = lane.signal.aborted ? null : lane.tracker.toCommit();
      return position === null ? [] : [{ lane, position }];
    });
    if (due.length === 0) return;
    try {
      await this.consumer.commitOffsets(
        due.map(({ lane, position }) => ({
          topic: lane.topic,
          partition: lane.partition,
          offset: position.toString(),
        })),
      );
      for (const { lane, position } of due) {
        lane.tracker.wasCommitted(position);
        this.options.hooks?.committed?.(lane.topic, lane.partition, position);
      }
    } catch (error) {
      // The next tick repeats it; after a rebalance the messages come again.
      this.log.debug('offsets could not be committed', { code: toBusError(error).code });
    }
  }

  private endLanes(): void {
    for (const lane of this.lanes.values()) lane.end();
    this.lanes.clear();
  }

  private async close(): Promise<void> {
    this.closing = true;
    await Promise.race([this.commit(), sleep(DISCONNECT_MS, undefined, { ref: false })]);
    this.isMember = false;
    this.endLanes();
    this.join.reject(new BusError('retry', 'CLOSED', 'the consumer ended before it joined its group'));
    this.join.promise.catch(() => undefined);
    // A join that waits for other members would hold the disconnect up for the whole rebalance timeout (B109).
    await Promise.race([
      this.consumer.disconnect().catch(() => undefined),
      sleep(DISCONNECT_MS, undefined, { ref: false }),
    ]);
    this.client.destroySockets();
    await this.consumer.disconnect().catch(() => undefined);
  }
}

/** What comes first. Leaves no timer and no listener behind: a lane lives as long as its assignment. */
function firstOf<T extends string>(outcome: Promise<T>, ended: AbortSignal, ms: number): Promise<T | 'ended' | 'tick'> {
  return new Promise((resolve) => {
    const settle = (first: T | 'ended' | 'tick'): void => {
      clearTimeout(timer);
      ended.removeEventListener('abort', onEnd);
      resolve(first);
    };
    const onEnd = (): void => settle('ended');
    const timer = setTimeout(() => settle('tick'), ms);
    ended.addEventListener('abort', onEnd, { once: true });
    if (ended.aborted) onEnd();
    void outcome.then(settle);
  });
}
