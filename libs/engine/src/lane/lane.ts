import { EngineError } from '../api.js';
import type { EngineLimits } from '../options.js';
import type { EventPass } from './event-pass.js';
import type { AcquireWork, HeartbeatWork, LeasePass } from './lease-pass.js';
import type { StartWork } from './start-decider.js';
import type { StartPass } from './start-pass.js';
import type { Work } from './work.js';

type Settling = (error: EngineError) => void;

export interface LaneParts {
  readonly events: EventPass;
  readonly starts: StartPass;
  readonly leases: LeasePass;
  readonly limits: EngineLimits;
}

/**
 * One queue, one batch in flight; what arrives meanwhile is the next batch. No timers: idle = immediate, busy = large
 * (ADR 0001). A run always maps to the same lane, so events of one run keep their order and two batches of one process
 * never meet on a row. Acquires go down the same lane: a message is never ahead of its commit within this process.
 */
export class Lane {
  private readonly starts: StartWork[] = [];
  private readonly acquires: AcquireWork[] = [];
  private readonly heartbeats: HeartbeatWork[] = [];
  private readonly events: Work[] = [];
  /** R4: what a batch left behind comes before everything that arrived since. */
  private carriedEvents: readonly Work[] = [];
  private carriedStarts: readonly StartWork[] = [];
  private queuedBytes = 0;
  private isRunning = false;
  private idleWaiters: (() => void)[] = [];

  constructor(private readonly parts: LaneParts) {}

  pushEvent(work: Work): void {
    this.push(this.events, work, work.size);
  }

  pushStart(work: StartWork): void {
    this.push(this.starts, work, work.size);
  }

  pushAcquire(work: AcquireWork): void {
    this.push(this.acquires, work, 0);
  }

  pushHeartbeat(work: HeartbeatWork): void {
    this.push(this.heartbeats, work, 0);
  }

  get queued(): number {
    return this.starts.length + this.acquires.length + this.heartbeats.length + this.events.length;
  }

  /** Resolves when nothing is queued or in flight. */
  whenIdle(): Promise<void> {
    if (!this.isRunning) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  private push<T>(queue: T[], work: T, size: number): void {
    const { queuedCalls, queuedBytes } = this.parts.limits;
    if (this.queued >= queuedCalls || this.queuedBytes > queuedBytes) {
      throw new EngineError('unavailable', 'OVERLOADED', 'too many calls are waiting; try again');
    }
    queue.push(work);
    this.queuedBytes += size;
    if (this.isRunning) return;
    this.isRunning = true;
    void this.drain();
  }

  private get hasWork(): boolean {
    return this.queued > 0 || this.carriedEvents.length > 0 || this.carriedStarts.length > 0;
  }

  private async drain(): Promise<void> {
    for (;;) {
      // Calls made in the same turn of the event loop go together: those of one message of a worker's stream, and what
      // callers say next who have just been answered, however many promises lie in between.
      await endOfTurn();
      if (!this.hasWork) break;
      const works = new Set<Settling>();
      try {
        await this.batch(works);
      } catch (cause) {
        // A bug of ours: its callers hear of it, and the lane goes on.
        const error = new EngineError('internal', 'INTERNAL', 'the batch failed', { cause });
        for (const fail of works) fail(error);
      }
    }
    this.isRunning = false;
    const waiters = this.idleWaiters;
    this.idleWaiters = [];
    for (const resolve of waiters) resolve();
  }

  private async batch(inFlight: Set<Settling>): Promise<void> {
    const starts = this.take(this.carriedStarts, this.starts);
    this.carriedStarts = [];
    for (const work of starts) inFlight.add((error) => work.settle(error));
    if (starts.length > 0) this.carriedStarts = await this.parts.starts.run(starts);
    const { batchEvents } = this.parts.limits;
    if (this.acquires.length > 0) await this.parts.leases.acquire(this.acquires.splice(0, batchEvents));
    if (this.heartbeats.length > 0) await this.parts.leases.heartbeat(this.heartbeats.splice(0, batchEvents));
    const events = this.take(this.carriedEvents, this.events);
    this.carriedEvents = [];
    for (const work of events) inFlight.add((error) => work.settle({ kind: 'failed', error }));
    if (events.length > 0) this.carriedEvents = await this.parts.events.run(events);
  }

  /** Bounded by events and bytes (R5); at least one. Rows are counted while they are decided. */
  private take<T extends { readonly size: number }>(carried: readonly T[], queue: T[]): readonly T[] {
    const { batchEvents, batchBytes } = this.parts.limits;
    let bytes = 0;
    for (const work of carried) bytes += work.size;
    let count = 0;
    while (count < queue.length && carried.length + count < batchEvents) {
      bytes += queue[count]?.size ?? 0;
      if (bytes > batchBytes && carried.length + count > 0) break;
      count += 1;
    }
    const fresh = queue.splice(0, count);
    for (const work of fresh) this.queuedBytes -= work.size;
    return carried.length === 0 ? fresh : [...carried, ...fresh];
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
