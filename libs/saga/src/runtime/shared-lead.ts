import type { Lead } from './parts.js';

/** L2: without a locker every claim leads, and there is nothing to end. */
export const NO_LEAD: Lead = { release: () => Promise.resolve(), orphan: () => undefined };

/**
 * One lock for all drives of one run in this process: parallel steps of it run side by side, and the lock goes with the
 * last of them.
 */
export class SharedLead {
  private holders = 1;
  private isOrphaned = false;

  constructor(private readonly lead: Lead) {}

  retain(): this {
    this.holders += 1;
    return this;
  }

  async release(): Promise<void> {
    this.holders -= 1;
    if (this.holders === 0 && !this.isOrphaned) await this.lead.release();
  }

  /** For good: a step that is still at work must find nobody beside it before the lock has died. */
  orphan(): void {
    this.isOrphaned = true;
    this.lead.orphan();
  }
}
