import { Loop } from './loop.js';
import type { RuntimeParts } from './parts.js';

export interface DueLoopParts extends Pick<RuntimeParts, 'due' | 'role' | 'logger' | 'clock'> {
  /** Rows were fired: steps may have become claimable. */
  readonly onFired: () => void;
}

const BATCH_SIZE = 200;
const STANDBY_MS = 500;
/** A nearer row that appears meanwhile is seen within this time. */
const LONGEST_SLEEP_MS = 500;
/** When a whole batch failed: its rows are locked, or their handling fails and pushes them back. */
const FAILED_BATCH_MS = 100;

/**
 * Owns: finding rows whose instant has come, and handing them to the engine: backoffs, lost leases, timeouts, deadlines
 * (R12). Does not own: whether a row is still due; the engine decides on each under the run's lock, so two processes
 * that fire the same row do no harm (R21). One process at a time does it, since one is enough (R22).
 */
export class DueLoop extends Loop {
  constructor(private readonly parts: DueLoopParts) {
    super({ name: 'due', clock: parts.clock, logger: parts.logger, errorBackoffMs: [100, 2_000] });
  }

  protected async runOnce(): Promise<number> {
    if (!(await this.parts.role.hold())) return STANDBY_MS;
    return this.fire();
  }

  private async fire(): Promise<number> {
    const { due, logger, onFired } = this.parts;
    const { items, nextDueInMs } = await due.readDue(BATCH_SIZE);
    if (items.length === 0) return Math.max(1, Math.min(nextDueInMs ?? LONGEST_SLEEP_MS, LONGEST_SLEEP_MS));
    const results = await due.fireDue(items);
    const failed = results.filter(({ outcome }) => outcome === 'FAILED');
    if (failed.length > 0) {
      logger.warn({ failed: failed.length, of: results.length, reason: failed[0]?.reason }, 'due rows not handled');
    }
    if (failed.length < results.length) onFired();
    return failed.length < results.length ? 0 : FAILED_BATCH_MS;
  }
}
