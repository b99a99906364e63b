import type { Clock } from '../../executor/types.js';

export interface OldRow {
  readonly runId: string;
  readonly runSeq: number;
}

/** The old behaviour of W19: each row is published and marked for itself, so a failed one is passed by; and only a poll. */
export class OldRelay {
  private readonly rows: OldRow[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly pollMs: number,
    private readonly publish: (row: OldRow) => void,
  ) {}

  commit(row: OldRow): void {
    this.rows.push(row);
  }

  /** Nothing listens to it. */
  kick(): void {
    return;
  }

  start(): void {
    this.clock.after(this.pollMs, () => {
      for (const row of [...this.rows]) {
        try {
          this.publish(row);
          this.rows.splice(this.rows.indexOf(row), 1);
        } catch {
          continue;
        }
      }
      this.start();
    });
  }
}
