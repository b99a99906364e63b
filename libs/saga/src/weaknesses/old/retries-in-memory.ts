export interface OldRetry {
  readonly maxAttempts: number;
  /** Between two tries. */
  readonly wait: () => Promise<void>;
}

/** The old behaviour of W9: tries are counted in the process, and a wait between them keeps slot and lease. */
export class OldExecutor {
  private busy = 0;

  constructor(private readonly slots: number) {}

  /** false = no slot. */
  begin(step: () => void, retry: OldRetry): boolean {
    if (this.busy >= this.slots) return false;
    this.busy += 1;
    void this.loop(step, retry).finally(() => (this.busy -= 1));
    return true;
  }

  private async loop(step: () => void, { maxAttempts, wait }: OldRetry): Promise<void> {
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      try {
        return step();
      } catch {
        if (attempt < maxAttempts) await wait();
      }
    }
  }
}
