import type { Lead, LeaderGate } from './parts.js';

/**
 * The right to drive one run in this process. Only the two functions below make one: a drive cannot begin without having
 * passed the leader gate.
 *
 * One lock serves all drives of a run: parallel steps run side by side, and the lock goes with the last of them.
 */
export class SharedLead {
  private holders = 1;
  private isOrphaned = false;

  private constructor(private readonly lead: Lead) {}

  /** L2: without locks everybody leads. Where locks are used it throws: the lock comes first. */
  static unlocked(gate: Pick<LeaderGate, 'mode'>): SharedLead {
    if (gate.mode === 'leader_elect') throw new Error('a drive must have its lock before its lease');
    return new SharedLead(NO_LOCK);
  }

  /** L3, L4: null = not now. */
  static async locked(gate: LeaderGate, run: Parameters<LeaderGate['acquireLead']>[0]): Promise<SharedLead | null> {
    const lead = await gate.acquireLead(run);
    return lead === null ? null : new SharedLead(lead);
  }

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

const NO_LOCK: Lead = { release: () => Promise.resolve(), orphan: () => undefined };
