import { Loop } from './loop.js';
import type { RuntimeParts, Upkeep } from './parts.js';

const NOT_ACTIVE_MS = 1_000;
/** Partitions are made days ahead: looking four times a day leaves many chances before one is missing. */
const EVERY_MS = 6 * 3_600_000;
const KEYS_AT_ONCE = 1_000;

/** R25: partitions exist before they are needed. R24: keys whose time is over go, in bounded statements. */
export class UpkeepLoop extends Loop {
  /** The last statement deleted as many keys as it may: there are more. */
  private isPurging = false;

  constructor(private readonly parts: Pick<RuntimeParts, 'role' | 'logger' | 'clock'> & { readonly upkeep: Upkeep }) {
    super({ name: 'upkeep', clock: parts.clock, logger: parts.logger, errorBackoffMs: [5_000, 300_000] });
  }

  protected async runOnce(): Promise<number> {
    const { role, upkeep } = this.parts;
    if (!role.isActive) return NOT_ACTIVE_MS;
    if (!this.isPurging) await upkeep.ensurePartitions();
    this.isPurging = (await upkeep.purgeKeys(KEYS_AT_ONCE)) === KEYS_AT_ONCE;
    return this.isPurging ? 0 : EVERY_MS;
  }
}
