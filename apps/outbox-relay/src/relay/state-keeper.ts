import type { BusLog } from '@baton/bus-kafka';
import type { Lsn } from './replication/lsn.js';
import type { Candidate, PublishedBefore, RelayStore } from './store.js';

/*
 * Owns: relay_state while a session streams. Written at a calm pace, after progress by rows; never after keepalives
 * alone, since each write makes log that the next keepalive tells of.
 *
 * Each write brings a snapshot and a position; once the position is confirmed, the next write keeps the snapshot as
 * `published_before`. So a burst of rows ends with two writes: one after it, and one that settles it.
 */

const PACE_MS = 1000;

export interface StateKeeperOptions {
  readonly store: RelayStore;
  readonly slot: string;
  readonly epoch: string;
  readonly published: PublishedBefore | null;
  readonly log: BusLog;
  confirmed(): Lsn;
}

export class StateKeeper {
  private readonly timer: NodeJS.Timeout;
  private published: PublishedBefore | null;
  private candidate: Candidate | null = null;
  private progressed = false;
  private settling = false;
  private saving: Promise<void> | null = null;

  constructor(private readonly options: StateKeeperOptions) {
    this.published = options.published;
    this.timer = setInterval(() => void this.tick(), PACE_MS);
  }

  noteProgress(): void {
    this.progressed = true;
  }

  /** Errors are logged: what is lost is only precision after a loss of the slot. */
  async save(): Promise<void> {
    this.saving ??= this.write().finally(() => {
      this.saving = null;
    });
    return this.saving;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async tick(): Promise<void> {
    const ripe = this.isRipe();
    if (this.progressed || (this.settling && ripe)) await this.save();
  }

  private isRipe(): boolean {
    return this.candidate !== null && this.candidate.position <= this.options.confirmed();
  }

  private async write(): Promise<void> {
    const { store, slot, epoch, log } = this.options;
    if (this.candidate !== null && this.isRipe()) {
      this.published = { snapshot: this.candidate.snapshot, takenAt: this.candidate.takenAt };
    }
    const wasProgress = this.progressed;
    this.progressed = false;
    try {
      const endLsn = this.options.confirmed();
      const candidate = await store.saveState(slot, epoch, { endLsn, published: this.published });
      if (candidate === null) log.warn('another relay has claimed the state of this slot', { slot });
      this.candidate = candidate;
      this.settling = wasProgress;
    } catch (error) {
      this.progressed ||= wasProgress;
      log.debug('the state could not be saved', { slot, error: String(error) });
    }
  }
}
