import { setTimeout as sleep } from 'node:timers/promises';
import type { BusConsumer, BusConsumerOptions, ConsumerHealth } from './consumer-port.js';
import { toBusError } from './errors.js';
import { silentLog, type BusLog } from './log.js';
import { GroupSession } from './group-session.js';
import { laneKey } from './consumer-lane.js';

/*
 * Owns: the life of a group member across crashes of the client: a new kafkajs consumer each time, since one that
 * has crashed may stay silent for ever (B109). Does not own: messages, offsets (GroupSession, ConsumerLane).
 */

const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 2000;
const REPEAT_LOG_MS = 30_000;

/** What the first use of a group or of a topic says on every broker: no news. */
const EXPECTED = new Set([
  'GROUP_LOAD_IN_PROGRESS',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
  'LEADER_NOT_AVAILABLE',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

class KafkaBusConsumer implements BusConsumer {
  private readonly log: BusLog;
  private readonly stopping = new AbortController();
  private readonly paused = new Map<string, { readonly topic: string; readonly partition: number }>();
  private lastLoss = { code: '', at: 0 };
  private session: GroupSession | null = null;
  private supervision: Promise<void> | null = null;
  private stopped: Promise<void> | null = null;
  private readonly joined = Promise.withResolvers<void>();

  constructor(private readonly options: BusConsumerOptions) {
    this.log = options.log ?? silentLog;
    // Nobody may be waiting when stop comes before start.
    this.joined.promise.catch(() => undefined);
  }

  async start(): Promise<void> {
    if (!this.stopping.signal.aborted) this.supervision ??= this.supervise();
    return this.joined.promise;
  }

  stop(): Promise<void> {
    this.stopped ??= this.shutDown();
    return this.stopped;
  }

  pause(topic: string, partition: number): void {
    this.paused.set(laneKey(topic, partition), { topic, partition });
    this.session?.pause(topic, partition);
  }

  resume(topic: string, partition: number): void {
    this.paused.delete(laneKey(topic, partition));
    this.session?.resume(topic, partition);
  }

  seek(topic: string, partition: number, offset: bigint): void {
    this.session?.seek(topic, partition, offset);
  }

  async commit(): Promise<void> {
    await this.session?.commit();
  }

  health(): ConsumerHealth {
    return this.session?.health() ?? { joined: false, lastFetchAt: null, assignment: {} };
  }

  private async supervise(): Promise<void> {
    let backoffMs = FIRST_BACKOFF_MS;
    while (!this.stopping.signal.aborted) {
      const session = new GroupSession(this.options, () => [...this.paused.values()]);
      this.session = session;
      session.joined.then(
        () => {
          backoffMs = FIRST_BACKOFF_MS;
          this.joined.resolve();
        },
        () => undefined,
      );
      try {
        await session.run(this.stopping.signal);
      } catch (error) {
        this.lost(error);
      }
      this.session = null;
      await sleep(backoffMs * (0.75 + Math.random() / 2), undefined, { signal: this.stopping.signal }).catch(
        () => undefined,
      );
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
  }

  private lost(error: unknown): void {
    const { code, message } = toBusError(error);
    this.options.hooks?.crashed?.(code);
    const fields = { group: this.options.groupId, code, error: message };
    const now = performance.now();
    const isNews = !EXPECTED.has(code) && (code !== this.lastLoss.code || now - this.lastLoss.at > REPEAT_LOG_MS);
    if (isNews) this.lastLoss = { code, at: now };
    this.log[isNews ? 'warn' : 'debug']('the consumer lost its group and joins again', fields);
  }

  private async shutDown(): Promise<void> {
    this.stopping.abort();
    await this.supervision;
    this.joined.reject(new Error('the consumer was stopped before it joined its group'));
  }
}

export function createBusConsumer(options: BusConsumerOptions): BusConsumer {
  return new KafkaBusConsumer(options);
}
