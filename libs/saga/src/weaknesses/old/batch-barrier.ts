import type { Clock } from '../../executor/types.js';

type Step = () => unknown;

/**
 * The old behaviour of W20: a tick waits for everything that it claimed before it claims again, and each call of an
 * observer is waited for in something that is left behind when its deadline passes.
 */
export class BatchBarrier {
  private readonly waiting: Step[] = [];
  /** Calls of the observer that were left behind. */
  leaked = 0;

  constructor(
    private readonly clock: Clock,
    private readonly batchSize: number,
  ) {}

  add(step: Step): void {
    this.waiting.push(step);
  }

  async start(): Promise<void> {
    for (;;) {
      const batch = this.waiting.splice(0, this.batchSize);
      await Promise.all(batch.map((step) => step()));
      await new Promise<void>((resolve) => this.clock.after(200, resolve));
    }
  }

  observe(callback: () => Promise<unknown>): void {
    this.leaked += 1;
    void callback().then(() => (this.leaked -= 1));
  }
}
