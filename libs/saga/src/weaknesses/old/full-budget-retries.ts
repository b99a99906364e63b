import type { Clock } from '../../executor/types.js';

/** The old behaviour of W7: every error is retryable, so a step that can never succeed burns its whole budget. */
export class FullBudgetRetries {
  status = 'running';

  constructor(
    private readonly clock: Clock,
    private readonly step: () => unknown,
    private readonly maxAttempts: number,
  ) {}

  start(attempt = 1): void {
    try {
      this.step();
      this.status = 'succeeded';
    } catch {
      if (attempt >= this.maxAttempts) this.status = 'failed';
      else this.clock.after(100 * 2 ** attempt, () => this.start(attempt + 1));
    }
  }
}
