import type { SagaErrorDetail } from '../journal/errors.js';
import { Claimer, type ClaimRound } from './claimer.js';
import type { RelayHook, StartSlot } from './dispatcher.js';
import { Driver } from './driver.js';
import { DueLoop } from './due-loop.js';
import type { Loop } from './loop.js';
import { SharedLead } from './shared-lead.js';
import type { RuntimeParts } from './parts.js';
import { Slots } from './slots.js';
import { UpkeepLoop } from './upkeep-loop.js';

/** For steps that hear of the end: to react, and for what they say to be recorded. */
const ABORT_GRACE_MS = 1_000;

/**
 * From one start to one stop. A step that never ends keeps its session, and no later one: after a restart all slots are
 * free.
 */
export class RuntimeSession {
  private readonly slots: Slots;
  private readonly claimer: Claimer;
  private readonly driver: Driver;
  private readonly loops: readonly Loop[];

  constructor(
    private readonly parts: RuntimeParts,
    relay: RelayHook,
  ) {
    this.slots = new Slots(parts.concurrency, () => this.claimer.wake());
    const due = new DueLoop({ ...parts, onFired: () => this.claimer.kick() });
    this.driver = new Driver({
      ...parts,
      slots: this.slots,
      onLeftOver: () => this.claimer.kick(),
      onWaiting: () => due.wake(),
      onCommit: () => relay.kick(),
    });
    this.claimer = new Claimer({ ...parts, slots: this.slots, driver: this.driver });
    const { upkeep } = parts;
    this.loops = [this.claimer, due, ...(upkeep === null ? [] : [new UpkeepLoop({ ...parts, upkeep })])];
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  kick(): void {
    this.claimer.kick();
  }

  round(): Promise<ClaimRound> {
    return this.claimer.round();
  }

  /** With locks a lease may only come after its lock, and a start has none. */
  reserve(): StartSlot | null {
    if (this.parts.gate.mode === 'leader_elect' || this.driver.isStopping || this.slots.take(1) === 0) return null;
    const askedAt = this.parts.clock.now();
    return {
      take: { max: 1, leaseMs: this.parts.config.leaseDurationMs },
      settle: (claimed) => {
        for (const step of claimed) this.driver.begin(step, askedAt, SharedLead.unlocked(this.parts.gate));
        this.slots.give(1 - claimed.length);
      },
    };
  }

  /**
   * Finishes what runs, within the deadline; then aborts it. Answers what had not ended by then: `GIVEN_BACK` after the
   * abort, or `STILL_RUNNING`, whose lease and lock die by themselves. Never rejects.
   */
  async stop(deadlineMs: number): Promise<readonly SagaErrorDetail[]> {
    this.driver.stopTaking();
    // A start that is under way holds a slot too: what it brings is given back before the connections end.
    const drained = Promise.all(this.loops.map((loop) => loop.stop())).then(() => this.slots.idle());
    const late = (await this.within(drained, deadlineMs)) ? [] : await this.cutShort(drained);
    await this.parts.role.release().catch((error: unknown) => {
      this.parts.logger.warn({ err: error }, 'the role of the due loop could not be given up; it ends by itself');
    });
    return late;
  }

  private async cutShort(drained: Promise<unknown>): Promise<readonly SagaErrorDetail[]> {
    const late = this.driver.running;
    this.driver.abort();
    await this.within(drained, ABORT_GRACE_MS);
    this.driver.abandon();
    const wedged = new Set(this.driver.running.map(({ pointer }) => pointer));
    return late.map((detail) => ({ ...detail, code: wedged.has(detail.pointer) ? 'STILL_RUNNING' : 'GIVEN_BACK' }));
  }

  private async within(work: Promise<unknown>, ms: number): Promise<boolean> {
    let stopTimer = () => undefined as void;
    const timeout = new Promise<false>((resolve) => {
      stopTimer = this.parts.clock.after(ms, () => resolve(false));
    });
    const isInTime = await Promise.race([work.then(() => true), timeout]);
    stopTimer();
    return isInTime;
  }
}
