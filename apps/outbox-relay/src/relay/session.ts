import { setTimeout as sleep } from 'node:timers/promises';
import type { BusLog, LaneProducer, TopicLayout } from '@baton/bus-kafka';
import { attach, waitForPublication, type Attachment, type Phase } from './attach.js';
import type { RelayMetrics } from './metrics.js';
import { OutboxStream, type StreamLimits } from './outbox-stream.js';
import { Patience, SessionOver } from './patience.js';
import type { DeadReason, Entry } from './publishing.js';
import type { ReplicationOptions } from './replication/connection.js';
import { formatLsn, type Lsn } from './replication/lsn.js';
import { Router } from './router.js';
import { SessionGuard } from './session-guard.js';
import { StateKeeper } from './state-keeper.js';
import type { RelayStore } from './store.js';

/*
 * Owns: one term of reading, from looking for the slot to the loss of the connection or the stop. Everything of a term
 * (lanes, routes, FIFO, retries) ends with it; the next one begins with what the slot tells again.
 */

export interface SessionOptions {
  readonly slot: string;
  readonly publication: string;
  readonly owner: string;
  readonly replication: ReplicationOptions;
  readonly layout: TopicLayout;
  readonly limits: StreamLimits;
  readonly drainMs: number;
  readonly store: RelayStore;
  readonly producer: LaneProducer;
  readonly metrics: RelayMetrics;
  readonly log: BusLog;
  readonly lastConfirmed: { readonly systemId: string; readonly lsn: Lsn } | null;
  readonly slotIsTooOld: boolean;
  phase(phase: Phase, detail?: string): void;
  partitions(topic: string, present: number): number;
}

/** What can be seen of a session while it streams. */
export interface SessionView {
  readonly confirmed: Lsn;
  readonly lagBytes: number;
  readonly pausedMs: number;
  readonly rows: number;
  readonly bytes: number;
  readonly lanes: number;
  readonly oldestCommitTimeMs: number | null;
}

/** Below the sender's timeout: by then nobody else can have the slot. */
const STALL_SHARE = 0.6;
const GOODBYE_MS = 2_000;
const RETRY_LOG_MS = 10_000;
const DRAIN_POLL_MS = 10;

export class RelaySession {
  private readonly guard: SessionGuard;
  private readonly router: Router;
  private stream: OutboxStream | null = null;
  private keeper: StateKeeper | null = null;
  private systemId: string | null = null;
  private stopping = false;
  private retryToldAt = -Infinity;

  constructor(private readonly options: SessionOptions) {
    this.guard = new SessionGuard(options.replication.walSenderTimeoutMs * STALL_SHARE);
    const { metrics } = options;
    this.router = new Router({
      producer: options.producer,
      layout: options.layout,
      guard: this.guard,
      hooks: {
        published: (topic, rows) => metrics.published(topic, rows),
        retried: (topic, code) => this.retried(topic, code),
        died: (_topic, reason) => metrics.died(reason),
      },
      partitions: (topic, present) => options.partitions(topic, present),
      bury: (entry, reason) => this.bury(entry, reason),
      failed: (error) => this.guard.fail(error instanceof Error ? error : new Error(String(error))),
    });
  }

  get view(): SessionView | null {
    if (this.stream === null) return null;
    const { fifo, lagBytes, pausedMs } = this.stream;
    return {
      confirmed: fifo.confirmed,
      lagBytes,
      pausedMs,
      rows: fifo.rows,
      bytes: fifo.bytes,
      lanes: this.router.laneCount,
      oldestCommitTimeMs: fifo.oldestCommitTimeMs,
    };
  }

  get lastConfirmed(): { readonly systemId: string; readonly lsn: Lsn } | null {
    if (this.stream === null || this.systemId === null) return null;
    return { systemId: this.systemId, lsn: this.stream.fifo.confirmed };
  }

  /** Resolves after `stop`; rejects with the reason when the session was lost. */
  async run(): Promise<void> {
    try {
      await this.read();
    } catch (error) {
      if (!(error instanceof SessionOver)) this.guard.fail(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.guard.end();
      this.keeper?.stop();
      this.stream?.detach();
    }
    if (this.guard.failure !== null) throw this.guard.failure;
  }

  /** Lets what is under way end, if it streams; ends at once otherwise. */
  stop(): void {
    this.stopping = true;
    if (this.stream === null || this.keeper === null) this.guard.end();
    else this.wakeStop();
  }

  private wakeStop: () => void = () => undefined;

  private async read(): Promise<void> {
    const { options, guard } = this;
    const attachOptions = {
      ...options,
      guard,
      publish: (entry: Entry) => this.router.publish(entry),
      open: (startLsn: Lsn) => this.open(startLsn),
    };
    await waitForPublication(attachOptions);
    const attachment = await attach(attachOptions);
    try {
      await this.streamUntilEnd(attachment);
    } finally {
      attachment.connection.destroy();
    }
  }

  private open(startLsn: Lsn): (chunk: Buffer) => void {
    const stream = new OutboxStream({
      startLsn,
      walSenderTimeoutMs: this.options.replication.walSenderTimeoutMs,
      limits: this.options.limits,
      guard: this.guard,
      publish: (entry) => this.router.publish(entry),
      confirmed: (real) => {
        if (real) this.keeper?.noteProgress();
      },
      acknowledged: (commitTimeMs) => {
        this.options.metrics.commitToAckSeconds(Math.max(0, Date.now() - commitTimeMs) / 1000);
      },
    });
    this.stream = stream;
    return (chunk) => stream.receive(chunk);
  }

  private async streamUntilEnd(attachment: Attachment): Promise<void> {
    const { connection, identity, startLsn } = attachment;
    const { options, guard } = this;
    const stream = this.stream;
    if (stream === null) throw new Error('a stream without its handler');
    void connection.ended.then((reason) => guard.fail(reason));
    this.systemId = identity.systemId;
    stream.attach(connection);
    const keeper = await this.claim(attachment, stream);
    options.metrics.sessionStarted();
    if (attachment.caughtUp) options.metrics.caughtUp();
    options.log.info('streaming', { slot: options.slot, from: formatLsn(startLsn), owner: options.owner });
    options.phase('streaming');
    await this.untilStop();
    if (guard.signal.aborted) return;
    await this.drain(stream, keeper);
    guard.end();
    connection.finish();
    await Promise.race([connection.ended, sleep(GOODBYE_MS, undefined, { ref: false })]);
  }

  private async claim(attachment: Attachment, stream: OutboxStream): Promise<StateKeeper> {
    const { store, slot, owner, log } = this.options;
    const epoch = await store.claim({ slot, owner, ...attachment.identity });
    const keeper = new StateKeeper({
      store,
      slot,
      epoch,
      published: attachment.published,
      log,
      confirmed: () => stream.fifo.confirmed,
    });
    this.keeper = keeper;
    // What the catch-up has covered, or the epoch's first snapshot.
    await keeper.save();
    keeper.noteProgress();
    return keeper;
  }

  private retried(topic: string, code: string): void {
    this.options.metrics.retried(code);
    const now = performance.now();
    if (now - this.retryToldAt < RETRY_LOG_MS) return;
    this.retryToldAt = now;
    this.options.log.warn('Kafka has not taken a batch; rows wait and it is sent again', { topic, code });
  }

  private async untilStop(): Promise<void> {
    const { signal } = this.guard;
    await new Promise<void>((resolve) => {
      this.wakeStop = resolve;
      if (this.stopping || signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  private async drain(stream: OutboxStream, keeper: StateKeeper): Promise<void> {
    stream.stopReading();
    const until = performance.now() + this.options.drainMs;
    while (stream.fifo.rows > 0 && performance.now() < until && !this.guard.signal.aborted) await sleep(DRAIN_POLL_MS);
    stream.sendStatus();
    keeper.stop();
    await keeper.save();
  }

  private async bury(entry: Entry, reason: DeadReason): Promise<void> {
    const { row, commitLsn } = entry;
    const { store, log } = this.options;
    const patience = new Patience(this.guard);
    for (;;) {
      this.guard.check();
      try {
        await store.bury(row, reason, commitLsn);
        const fields = {
          outbox_id: row.id,
          run_id: row.runId,
          run_seq: row.runSeq.toString(),
          topic: row.topic,
          reason,
        };
        log.error('an outbox row can never be published; it is kept in outbox_dead', fields);
        return;
      } catch (error) {
        log.warn('a dead row could not be kept yet', { outbox_id: row.id, error: String(error) });
      }
      await patience.wait();
    }
  }
}
