import { Loop, type Logger, type LoopTurn } from '@baton/platform';
import type { ActiveRole, TimerStore } from '@baton/storage-postgres';

const NOT_ACTIVE_MS = 1_000;
/** Partitions are made days ahead: looking four times a day leaves many chances before one is missing. */
const EVERY_MS = 6 * 3_600_000;
/** Keys in one statement: some milliseconds. */
const KEYS_AT_ONCE = 1_000;

/**
 * R25: partitions exist before they are needed, at start and from then on. The function takes an advisory lock, so
 * coordinators that do the same at their start are not in the way. A loop of its own: waiting for a lock on a busy
 * table must not hold up due timers. Then expired keys go (R24), in bounded statements with turns in between.
 */
export class PartitionLoop extends Loop {
  private readonly parts: {
    readonly store: Pick<TimerStore, 'ensurePartitions' | 'purgeKeys'>;
    readonly role: Pick<ActiveRole, 'isActive'>;
    readonly logger: Logger;
  };

  /** The last statement deleted as many keys as it may: there are more. */
  private isPurging = false;

  constructor(parts: PartitionLoop['parts']) {
    super({ name: 'partitions', logger: parts.logger, errorBackoffMs: [5_000, 300_000] });
    this.parts = parts;
  }

  protected override async runOnce(): Promise<LoopTurn> {
    if (!this.parts.role.isActive) return { waitMs: NOT_ACTIVE_MS };
    if (!this.isPurging) await this.parts.store.ensurePartitions();
    this.isPurging = (await this.parts.store.purgeKeys(KEYS_AT_ONCE)) === KEYS_AT_ONCE;
    return { waitMs: this.isPurging ? 0 : EVERY_MS };
  }
}
