import { Loop, type Logger, type LoopTurn } from '@baton/platform';
import type { TimerStore } from '@baton/storage-postgres';
import type { ActiveRole } from './active-role.js';

const NOT_ACTIVE_MS = 1_000;
/** Partitions are made days ahead: looking four times a day leaves many chances before one is missing. */
const EVERY_MS = 6 * 3_600_000;

/**
 * R25: partitions exist before they are needed, at start and from then on. The function takes an advisory lock, so
 * coordinators that do the same at their start are not in the way. A loop of its own: waiting for a lock on a busy
 * table must not hold up due timers.
 */
export class PartitionLoop extends Loop {
  private readonly parts: {
    readonly store: Pick<TimerStore, 'ensurePartitions'>;
    readonly role: Pick<ActiveRole, 'isActive'>;
    readonly logger: Logger;
  };

  constructor(parts: PartitionLoop['parts']) {
    super({ name: 'partitions', logger: parts.logger, errorBackoffMs: [5_000, 300_000] });
    this.parts = parts;
  }

  protected override async runOnce(): Promise<LoopTurn> {
    if (!this.parts.role.isActive) return { waitMs: NOT_ACTIVE_MS };
    await this.parts.store.ensurePartitions();
    return { waitMs: EVERY_MS };
  }
}
