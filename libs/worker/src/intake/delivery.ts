import type { ConsumedBatch, ConsumedMessage } from '@baton/bus-kafka';
import { randomUUID } from 'node:crypto';
import type { TaskMessage } from '../task-message.js';

/** One message on its way to a lease. */
export class Delivery {
  /** R10: every ask for this delivery's lease is the same call, so that a lost answer gets the same lease again. */
  readonly callId = randomUUID();
  readonly firstSeenAt = performance.now();
  tries = 0;

  constructor(
    readonly task: TaskMessage,
    private readonly message: ConsumedMessage,
    private readonly batch: ConsumedBatch,
  ) {}

  /** The partition went to somebody else, who gets the message again. */
  get isRevoked(): boolean {
    return this.batch.signal.aborted;
  }

  /** R10: this message needs no second delivery. */
  done(): void {
    this.batch.done(this.message.offset);
  }

  /**
   * R10: how long NOT_YET is believed to mean "ahead of its own commit". Clocks of producer and worker may differ,
   * so an old time stamp alone decides only after a few tries over a second.
   */
  isPatienceOver(patienceMs: number): boolean {
    const waitedMs = performance.now() - this.firstSeenAt;
    if (waitedMs >= patienceMs) return true;
    return waitedMs >= 1_000 && this.tries >= 3 && Date.now() - this.message.timestampMs >= patienceMs;
  }
}
