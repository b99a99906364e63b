import type { Clock } from '../../executor/types.js';

/** The old behaviour of W10: a heartbeat that fails is a warning, and the step runs on, however long ago the last good one was. */
export class FailOpenHeartbeats {
  private readonly controller = new AbortController();

  constructor(
    private readonly clock: Clock,
    private readonly heartbeat: () => Promise<boolean>,
    private readonly intervalMs: number,
  ) {}

  run(step: (signal: AbortSignal) => unknown): void {
    void step(this.controller.signal);
    const beat = async () => {
      try {
        if (!(await this.heartbeat())) return this.controller.abort();
      } catch {
        // Warned and counted, nothing else.
      }
      this.clock.after(this.intervalMs, () => void beat());
    };
    this.clock.after(this.intervalMs, () => void beat());
  }
}
