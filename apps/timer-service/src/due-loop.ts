import { Loop, type Logger, type LoopTurn } from '@baton/platform';
import type { ActiveRole, TimerStore } from '@baton/storage-postgres';
import type { FiredRecord } from '@baton/wire';
import type { FireClient } from './fire-client.js';
import type { TimerMetrics } from './timer-metrics.js';

export interface DueLoopParts {
  readonly store: Pick<TimerStore, 'readDue'>;
  readonly role: Pick<ActiveRole, 'hold'>;
  readonly fire: Pick<FireClient, 'fireDue'>;
  readonly metrics: TimerMetrics;
  readonly logger: Logger;
  readonly pollMs: number;
}

/** R22: at most this many in a batch, and one batch outstanding. */
const BATCH_SIZE = 200;
const STANDBY_MS = 500;
/** When a whole batch failed: its rows are locked, or their handling fails and pushes them back. */
const FAILED_BATCH_MS = 100;

/**
 * Owns: finding due rows, in the order of their instants, and handing them over. Does not own: whether a row is still
 * due, and what becomes of it (R21: the coordinator consumes, re-arms or pushes back each row under the run's lock).
 *
 * Never early: only rows that are due by the database clock are handed over; no clock of this process is compared with
 * an instant (R27). A sleep is bounded by `pollMs`, so a nearer row that appears meanwhile is seen.
 */
export class DueLoop extends Loop {
  private readonly parts: DueLoopParts;

  constructor(parts: DueLoopParts) {
    super({ name: 'due', logger: parts.logger, errorBackoffMs: [100, 2_000] });
    this.parts = parts;
  }

  protected override async runOnce(): Promise<LoopTurn> {
    const { role, store, fire, metrics, pollMs } = this.parts;
    if (!(await role.hold())) {
      metrics.sawDue(0); // what it saw when it was active is the other's now
      return { waitMs: STANDBY_MS };
    }
    const scan = await store.readDue(BATCH_SIZE);
    metrics.sawDue(scan.items.length);
    if (scan.items.length === 0) return { waitMs: Math.min(scan.nextDueInMs ?? pollMs, pollMs) };
    const results = await fire.fireDue(scan.items);
    metrics.fired(results, scan.lateMs);
    return { waitMs: this.settledAny(results) ? 0 : FAILED_BATCH_MS };
  }

  private settledAny(results: readonly FiredRecord[]): boolean {
    const failed = results.filter(({ outcome }) => outcome === 'FAILED');
    const [first] = failed;
    if (first !== undefined) {
      this.parts.logger.warn(
        { failed: failed.length, of: results.length, reason: first.reason },
        'due rows not handled',
      );
    }
    return failed.length < results.length;
  }
}
