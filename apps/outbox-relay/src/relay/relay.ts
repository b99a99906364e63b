import { setTimeout as sleep } from 'node:timers/promises';
import { createLaneProducer, type BusLog, type LaneProducer, type TopicLayout } from '@baton/bus-kafka';
import type { Phase } from './attach.js';
import type { RelayMetrics } from './metrics.js';
import type { StreamLimits } from './outbox-stream.js';
import type { Lsn } from './replication/lsn.js';
import { RelaySession, type SessionView } from './session.js';
import { RelayStore } from './store.js';

/*
 * Owns: the relay of one process: session after session until it is stopped. Trouble of the database or of Kafka
 * never ends it. Kafka away is no trouble of the session: rows wait, the slot keeps the log (L9).
 */

export interface RelayOptions {
  readonly databaseUrl: string;
  readonly brokers: readonly string[];
  readonly slot: string;
  readonly publication: string;
  /** Who this is, in relay_state and in the names of connections. */
  readonly owner: string;
  readonly layout: TopicLayout;
  readonly limits: StreamLimits;
  readonly walSenderTimeoutMs: number;
  readonly drainMs: number;
  readonly metrics: RelayMetrics;
  readonly log: BusLog;
}

export interface RelayStatus {
  readonly phase: Phase;
  readonly detail: string | null;
  readonly session: SessionView | null;
}

const APPLICATION_NAME = 'baton-outbox-relay';
const UNDEFINED_OBJECT = '42704';
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 1000;
const REPEAT_LOG_MS = 30_000;
/** A session that lasted this long was no failure to start. */
const SETTLED_MS = 5000;
/** With rows that wait and no success for this long, the relay says that it is not ready (B108). */
const STUCK_AFTER_MS = 60_000;

export class OutboxRelay {
  private readonly store: RelayStore;
  private readonly producer: LaneProducer;
  private readonly stopping = new AbortController();
  private session: RelaySession | null = null;
  private loop: Promise<void> | null = null;
  private stopped: Promise<void> | null = null;
  private phase: Phase = 'starting';
  private detail: string | null = null;
  private slotIsTooOld = false;
  private lastLoss = { message: '', at: 0 };
  private readonly pinned = new Map<string, number>();
  private lastConfirmed: { readonly systemId: string; readonly lsn: Lsn } | null = null;

  constructor(private readonly options: RelayOptions) {
    const { log, metrics } = options;
    this.store = new RelayStore(options.databaseUrl, APPLICATION_NAME, (error) => {
      log.debug('an idle database connection was lost', { error: error.message });
    });
    this.producer = createLaneProducer({
      brokers: options.brokers,
      clientId: APPLICATION_NAME,
      log,
      hooks: {
        sent: (_topic, _messages, ms) => metrics.sendSeconds(ms / 1000),
        ackMismatch: () => metrics.ackMismatch(),
      },
    });
  }

  start(): void {
    this.loop ??= this.runSessions();
  }

  /** What is under way ends, the slot is let go. The first call decides; later ones wait for it. */
  stop(): Promise<void> {
    this.stopped ??= this.shutDown();
    return this.stopped;
  }

  private async shutDown(): Promise<void> {
    this.stopping.abort();
    this.session?.stop();
    await this.loop;
    await this.producer.close();
    await this.store.close();
    this.phase = 'stopped';
  }

  get status(): RelayStatus {
    return { phase: this.phase, detail: this.detail, session: this.session?.view ?? null };
  }

  /** Ready while it streams or stands by. undefined = ready. */
  notReady(): string | undefined {
    const { phase, detail, session } = this.status;
    if (phase === 'standby') return undefined;
    if (phase !== 'streaming') return detail === null ? phase : `${phase}: ${detail}`;
    const oldest = session?.oldestCommitTimeMs ?? null;
    if (oldest === null || Date.now() - oldest < STUCK_AFTER_MS) return undefined;
    return `rows have waited for ${Math.round((Date.now() - oldest) / 1000)} s to be published`;
  }

  private async runSessions(): Promise<void> {
    const { signal } = this.stopping;
    let backoffMs = FIRST_BACKOFF_MS;
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await this.runSession();
      } catch (error) {
        this.lost(error);
      }
      if (signal.aborted) return;
      if (performance.now() - startedAt > SETTLED_MS) backoffMs = FIRST_BACKOFF_MS;
      await sleep(backoffMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
  }

  private lost(error: unknown): void {
    const { metrics, log } = this.options;
    metrics.sessionFailed();
    const message = error instanceof Error ? error.message : String(error);
    const code: unknown = (error as { readonly code?: unknown }).code;
    // Sessions begin when the publication exists, so this one is about a time before it did.
    this.slotIsTooOld = code === UNDEFINED_OBJECT && message.includes('publication');
    this.enter('reconnecting', message);
    // A server that is away says the same each second.
    const now = performance.now();
    if (message === this.lastLoss.message && now - this.lastLoss.at < REPEAT_LOG_MS) return;
    this.lastLoss = { message, at: now };
    log.warn('the relay lost its stream, beginning again', { code, error: message });
  }

  private async runSession(): Promise<void> {
    const { options } = this;
    const session = new RelaySession({
      slot: options.slot,
      publication: options.publication,
      owner: options.owner,
      replication: {
        url: options.databaseUrl,
        applicationName: APPLICATION_NAME,
        walSenderTimeoutMs: options.walSenderTimeoutMs,
      },
      layout: options.layout,
      limits: options.limits,
      drainMs: options.drainMs,
      store: this.store,
      producer: this.producer,
      metrics: options.metrics,
      log: options.log,
      lastConfirmed: this.lastConfirmed,
      slotIsTooOld: this.slotIsTooOld,
      phase: (phase, detail) => this.enter(phase, detail ?? null),
      partitions: (topic, present) => this.pin(topic, present),
    });
    this.session = session;
    this.slotIsTooOld = false;
    try {
      await session.run();
    } finally {
      this.lastConfirmed = session.lastConfirmed ?? this.lastConfirmed;
      this.session = null;
    }
  }

  /**
   * The number of partitions decides the lane of a key. More of them later are not used by this process: messages of
   * one run would be in two partitions, and nothing would order them.
   */
  private pin(topic: string, present: number): number {
    const known = this.pinned.get(topic);
    if (known !== undefined && known !== present) {
      this.options.log.warn('the number of partitions of a topic has changed', { topic, used: known, present });
    }
    if (known !== undefined && known <= present) return known;
    this.pinned.set(topic, present);
    return present;
  }

  private enter(phase: Phase, detail: string | null): void {
    this.phase = phase;
    this.detail = detail;
  }
}
