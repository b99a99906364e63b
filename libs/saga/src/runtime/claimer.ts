import type { ClaimablePeek, ClaimedStep } from '../journal/ports.js';
import type { Driver } from './driver.js';
import { Loop } from './loop.js';
import type { RuntimeParts } from './parts.js';
import { SharedLead } from './shared-lead.js';
import type { Slots } from './slots.js';

export interface ClaimerParts extends Pick<
  RuntimeParts,
  'journal' | 'gate' | 'config' | 'observer' | 'logger' | 'clock'
> {
  readonly slots: Slots;
  readonly driver: Pick<Driver, 'begin'>;
}

/** What one look for steps came to. */
export interface ClaimRound {
  readonly claimed: number;
  /** As many as were asked for: there may be more. */
  readonly isFull: boolean;
}

/** One look under way: slots that it took, and drives that it has begun with them. */
interface Look {
  readonly asked: number;
  begun: number;
}

/** Runs of other leaders are looked past: so many steps are looked at for each slot that is free. */
const LOOK_AHEAD = 4;

/**
 * Owns: when to look for claimable steps. At once when kicked and when the last look found all it asked for; else once in
 * each poll interval. Never without a free slot, and with a lease for each step that it hands on (W2, W20).
 */
export class Claimer extends Loop {
  private isKicked = false;
  private isHungry = true;
  private pollAt = Number.NEGATIVE_INFINITY;
  private isStopping = false;

  constructor(private readonly parts: ClaimerParts) {
    super({
      name: 'claim',
      clock: parts.clock,
      logger: parts.logger,
      errorBackoffMs: [Math.min(parts.config.pollIntervalMs, 1_000), 5_000],
    });
  }

  /** Somebody knows of new steps. */
  kick(): void {
    this.isKicked = true;
    this.wake();
  }

  /** Nothing is claimed from here on; a look that is under way still hands on what it got. */
  override stop(): Promise<void> {
    this.isStopping = true;
    return super.stop();
  }

  /** One look. Rejects when the journal cannot be asked. */
  async round(): Promise<ClaimRound> {
    const { slots, config, observer, clock } = this.parts;
    const asked = this.isStopping ? 0 : slots.take(config.claimBatchSize);
    if (asked === 0) return { claimed: 0, isFull: false };
    const began = clock.now();
    const look: Look = { asked, begun: 0 };
    try {
      await (this.parts.gate.mode === 'leader_elect' ? this.claimLed(look) : this.claimAll(look));
      const result = look.begun === 0 ? 'empty' : 'claimed';
      observer.tick?.({ result, claimed: look.begun, durationMs: clock.now() - began });
      return { claimed: look.begun, isFull: look.begun === asked };
    } catch (error) {
      observer.tick?.({ result: 'error', claimed: 0, durationMs: clock.now() - began });
      throw error;
    } finally {
      // What has begun keeps its slot, also when the rest of the look failed.
      slots.give(asked - look.begun);
    }
  }

  protected async runOnce(): Promise<number> {
    const { slots, clock, config } = this.parts;
    const now = clock.now();
    const isDue = this.isKicked || this.isHungry || now >= this.pollAt;
    // A slot that becomes free wakes this loop.
    if (!isDue || slots.free === 0) return Math.max(1, this.pollAt > now ? this.pollAt - now : config.pollIntervalMs);
    this.isKicked = false;
    this.isHungry = false;
    this.pollAt = now + config.pollIntervalMs;
    const { isFull } = await this.round();
    this.isHungry = isFull;
    return isFull || this.isKicked ? 0 : config.pollIntervalMs;
  }

  private async claimAll(look: Look): Promise<void> {
    const { journal, config } = this.parts;
    const askedAt = this.parts.clock.now();
    const steps = await journal.claimPending({ limit: look.asked, leaseMs: config.leaseDurationMs });
    for (const step of steps) this.parts.driver.begin(step, askedAt, SharedLead.unlocked(this.parts.gate));
    look.begun = steps.length;
  }

  /** W2: the lock comes first, so that a step of somebody else's run is never leased and left lying. */
  private async claimLed(look: Look): Promise<void> {
    const peeked = await this.parts.journal.peekPending(look.asked * LOOK_AHEAD);
    for (const peek of peeked) {
      if (look.begun === look.asked || this.isStopping) break;
      if (await this.lead(peek)) look.begun += 1;
    }
  }

  private async lead(peek: ClaimablePeek): Promise<boolean> {
    const { gate, journal, config } = this.parts;
    const lead = await SharedLead.locked(gate, { runId: peek.runId, sagaId: peek.sagaId });
    if (lead === null) return false;
    const askedAt = this.parts.clock.now();
    let step: ClaimedStep | null = null;
    try {
      step = await journal.claimOne(peek, config.leaseDurationMs);
    } finally {
      if (step === null) await lead.release();
    }
    if (step === null) return false;
    this.parts.driver.begin(step, askedAt, lead);
    return true;
  }
}
