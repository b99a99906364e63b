import type { Clock } from '../executor/types.js';
import { SagaError } from '../journal/errors.js';
import type { GlobalEvent, GlobalReader } from '../journal/ports.js';
import type { SagaLogger } from '../observe/observer.js';
import { Loop } from '../runtime/loop.js';
import type { SingleRole } from '../runtime/parts.js';
import type { PositionStore } from '../storage/saga-store.js';
import { parseSagaEvent, type AnySagaEvent } from './event-names.js';

/** One event, as a handler gets it. */
export interface ReceivedEvent {
  readonly event: AnySagaEvent;
  /** The same whenever the event comes again: what a handler remembers to be idempotent. */
  readonly eventId: string;
  readonly runId: string;
  /** Rises by one with each event of the run. */
  readonly runSeq: number;
  readonly createdAt: Date;
  readonly traceparent: string | null;
  /** How often this process has called for this event, this time included. */
  readonly attempt: number;
  /** Aborted when the subscriber stops. It waits for the handler all the same. */
  readonly signal: AbortSignal;
}

/**
 * Called for one event at a time, in their order, outside of any transaction. At least once: a crash before the position
 * is stored brings events again. What it throws, or rejects with, is tried again; no later event comes before.
 */
export type EventHandler = (received: ReceivedEvent) => unknown;

export interface SubscriberSettings {
  /** `[a-z0-9-]+`, at most 63 characters. Each name has a position of its own. */
  readonly name: string;
  readonly handle: EventHandler;
  /** Where one that was never here begins. Default `beginning`: with the oldest event that is kept. */
  readonly from?: 'beginning' | 'now';
  /** Which events are for the handler; the others are passed by. Default: all of sagas. */
  readonly wants?: (event: AnySagaEvent) => boolean;
  /** How often to look for events that nobody announced. Milliseconds; default 200. */
  readonly pollIntervalMs?: number;
  /** Events of one read. Default 100. */
  readonly batchSize?: number;
  /** Calls for one event in a row that fail before the subscriber stops. Default 10. */
  readonly maxAttempts?: number;
  /** Between those calls: doubles from the first value up to the second. Milliseconds; default 100 and 30,000. */
  readonly backoffMs?: readonly [first: number, max: number];
  /** The subscriber has stopped at an event that its handler cannot take. Beside the log. */
  readonly onStopped?: (stop: { readonly eventId: string; readonly error: unknown }) => unknown;
}

export interface SubscriberParts {
  readonly reader: GlobalReader;
  readonly positions: PositionStore;
  readonly namespace: string;
  /** null = every process handles every event. */
  readonly role: SingleRole | null;
  readonly clock: Clock;
  readonly logger: SagaLogger;
}

const STANDBY_MS = 500;
const STOPPED_MS = 60_000;
const RENEW_ROLE_MS = 2_000;
const DEFAULT_ATTEMPTS = 10;
const DEFAULT_BACKOFF = [100, 30_000] as const;
const NAME = /^[a-z0-9-]{1,63}$/;

/**
 * Brings events to one handler.
 * S1. Events come in the order of the reader, so those of one run in the order of the run; the next one only when the
 *     handler is done with this one.
 * S2. The position is stored after the handler is done, never before, and only by whoever still sees the old one.
 * S3. An event that fails `maxAttempts` times stops the subscriber, loudly: an error in the log, `onStopped`, and the
 *     stored position tells it. Nothing is passed by unless somebody says so (`skip`); `resume`, or a new process, tries
 *     again.
 */
export class EventSubscriber extends Loop {
  /** undefined = not known; it is read before the next events. */
  private cursor: { readonly at: string | null } | undefined;
  private failing: { readonly eventId: string; readonly count: number } | undefined;
  private poison: GlobalEvent | undefined;
  private abort = new AbortController();
  private isStarted = false;

  constructor(
    private readonly settings: SubscriberSettings,
    private readonly parts: SubscriberParts,
  ) {
    super({
      name: `subscriber ${settings.name}`,
      clock: parts.clock,
      logger: parts.logger,
      errorBackoffMs: [100, 10_000],
    });
    if (NAME.test(settings.name)) return;
    throw new SagaError('invalid', 'NAME_INVALID', `${JSON.stringify(settings.name)} cannot name a subscriber`);
  }

  /** The event at which it has stopped; null = it goes on. */
  get stoppedAt(): string | null {
    return this.poison?.eventId ?? null;
  }

  override start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.abort = new AbortController();
    this.cursor = undefined;
    this.resume();
    super.start();
  }

  /** Waits for the handler that runs; its signal is aborted. */
  override async stop(): Promise<void> {
    this.abort.abort(new SagaError('unavailable', 'STOPPING', 'the subscriber stops'));
    await super.stop();
    this.isStarted = false;
    await this.parts.role?.release();
  }

  /** Events were committed: look at once. */
  kick(): void {
    this.wake();
  }

  /** Tries the event again at which it has stopped. */
  resume(): void {
    // Another process may have gone on meanwhile.
    this.cursor = undefined;
    this.poison = undefined;
    this.failing = undefined;
    this.wake();
  }

  /** Passes by the event at which it has stopped. Rejects (STOP_UNKNOWN, conflict) unless it has stopped at this one. */
  async skip(eventId: string): Promise<void> {
    const { poison, cursor } = this;
    if (poison === undefined || poison.eventId !== eventId || cursor === undefined) {
      throw new SagaError('conflict', 'STOP_UNKNOWN', `the subscriber has not stopped at ${eventId}`);
    }
    this.parts.logger.warn({ event_id: eventId, subscriber: this.settings.name }, 'an event is passed by, as asked');
    await this.store(cursor.at, poison.cursor);
    this.resume();
  }

  protected async runOnce(): Promise<number> {
    if (this.poison !== undefined) return STOPPED_MS;
    if (this.hasLapsed) this.cursor = undefined;
    if (!(await this.isOurs())) return this.standBy();
    const from = await this.position();
    const events = await this.parts.reader.loadSince(from, this.settings.batchSize ?? 100);
    let at = from;
    let waitMs = 0;
    for (const event of events) {
      if (this.abort.signal.aborted || this.hasLapsed || !(await this.isOurs())) break;
      waitMs = await this.take(event);
      if (waitMs > 0) break;
      at = event.cursor;
    }
    if (at !== from) await this.store(from, at);
    if (this.poison !== undefined) await this.tell(this.poison);
    if (waitMs > 0) return waitMs;
    return events.length > 0 ? 0 : (this.settings.pollIntervalMs ?? 200);
  }

  /** Somebody else may have had the role since it was last held here, and have moved the position. */
  private get hasLapsed(): boolean {
    return this.parts.role?.isActive === false;
  }

  private async isOurs(): Promise<boolean> {
    return this.parts.role === null || (await this.parts.role.hold());
  }

  private standBy(): number {
    // Who takes over reads where the one before stood.
    this.cursor = undefined;
    this.failing = undefined;
    return STANDBY_MS;
  }

  private async position(): Promise<string | null> {
    if (this.cursor !== undefined) return this.cursor.at;
    const { positions, namespace, reader } = this.parts;
    const { name, from = 'beginning' } = this.settings;
    let stored = await positions.read(namespace, name);
    if (stored === undefined) {
      await positions.move(namespace, name, undefined, from === 'now' ? await reader.head() : null);
      stored = await positions.read(namespace, name);
    }
    this.cursor = { at: stored?.cursor ?? null };
    return this.cursor.at;
  }

  private async store(from: string | null, to: string | null): Promise<void> {
    const { positions, namespace, logger } = this.parts;
    const hasMoved = await positions.move(namespace, this.settings.name, from, to);
    this.cursor = hasMoved ? { at: to } : undefined;
    if (hasMoved) return;
    logger.warn({ subscriber: this.settings.name }, 'another process has moved the position of a subscriber');
  }

  /** 0 = done with it; else how long to wait before it comes again. */
  private async take(event: GlobalEvent): Promise<number> {
    const parsed = parseSagaEvent(event.type, event.payload);
    const { wants = () => true } = this.settings;
    const attempt = this.failing?.eventId === event.eventId ? this.failing.count + 1 : 1;
    try {
      if (parsed === undefined || !wants(parsed)) return 0;
      const { eventId, runId, runSeq, createdAt, traceparent } = event;
      const more = { attempt, signal: this.abort.signal };
      const received = { event: parsed, eventId, runId, runSeq, createdAt, traceparent, ...more };
      await this.keepingRole(async () => this.settings.handle(received));
      this.failing = undefined;
      return 0;
    } catch (error) {
      return this.failed(event, attempt, error);
    }
  }

  /** A handler may take longer than the role lasts: nobody else is to begin with the same event. */
  private async keepingRole(work: () => Promise<unknown>): Promise<void> {
    const { role, clock } = this.parts;
    let stop = (): void => undefined;
    const renewLater = (): void => {
      stop = clock.after(RENEW_ROLE_MS, () => {
        renewLater();
        void role?.hold().catch(() => undefined);
      });
    };
    if (role !== null) renewLater();
    try {
      await work();
    } finally {
      stop();
    }
  }

  private failed(event: GlobalEvent, attempt: number, error: unknown): number {
    const { name, maxAttempts = DEFAULT_ATTEMPTS, backoffMs: [first, max] = DEFAULT_BACKOFF } = this.settings;
    const fields = { err: error, subscriber: name, event_id: event.eventId, run_id: event.runId, attempt };
    this.failing = { eventId: event.eventId, count: attempt };
    if (attempt >= maxAttempts) {
      this.poison = event;
      this.parts.logger.error(fields, 'a subscriber has stopped: its handler cannot take an event');
      void this.tellOwner({ eventId: event.eventId, error });
      return STOPPED_MS;
    }
    this.parts.logger.warn(fields, 'the handler of a subscriber failed; the event will come again');
    return Math.min(max, first * 2 ** Math.min(attempt - 1, 20));
  }

  private async tellOwner(stop: { readonly eventId: string; readonly error: unknown }): Promise<void> {
    try {
      await this.settings.onStopped?.(stop);
    } catch (error) {
      this.parts.logger.warn({ err: error, event_id: stop.eventId }, 'onStopped of a subscriber failed');
    }
  }

  private async tell({ eventId }: GlobalEvent): Promise<void> {
    const { positions, namespace } = this.parts;
    // What was thrown may hold anything: the log has it.
    const failure = `its handler failed ${this.failing?.count ?? 0} times`;
    await positions.mark(namespace, this.settings.name, { event: eventId, failure });
  }
}
