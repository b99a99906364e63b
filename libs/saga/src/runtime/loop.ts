import type { Clock } from '../executor/types.js';
import type { SagaLogger } from '../observe/observer.js';

export interface LoopOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly logger: SagaLogger;
  /** Pause after a turn that threw: doubles from the first value up to the second. Milliseconds. */
  readonly errorBackoffMs: readonly [first: number, max: number];
}

/**
 * A loop that is a service: `start()` is idempotent, `stop()` resolves when no turn is in flight. An error of a turn is
 * logged and backed off; it never ends the loop or the process. Time is the injected clock's.
 */
export abstract class Loop {
  private current: { stopped: boolean } | undefined;
  private finished: Promise<void> = Promise.resolve();
  private wakeSleeper: (() => void) | undefined;
  private isWoken = false;
  private failures = 0;

  constructor(protected readonly options: LoopOptions) {}

  /** One turn; answers when the next may begin: 0 = at once. */
  protected abstract runOnce(): Promise<number>;

  start(): void {
    if (this.current !== undefined) return;
    const run = { stopped: false };
    this.current = run;
    this.finished = this.finished.then(() => this.run(run));
  }

  async stop(): Promise<void> {
    if (this.current !== undefined) this.current.stopped = true;
    this.current = undefined;
    this.wakeSleeper?.();
    await this.finished;
  }

  /** The next turn begins now, or right after the one in flight. */
  wake(): void {
    this.isWoken = true;
    this.wakeSleeper?.();
  }

  private async run(run: { readonly stopped: boolean }): Promise<void> {
    while (!run.stopped) {
      this.isWoken = false;
      const waitMs = await this.turn(run);
      if (waitMs > 0 && !this.isWoken && !run.stopped) await this.sleep(waitMs);
    }
  }

  private async turn(run: { readonly stopped: boolean }): Promise<number> {
    try {
      const waitMs = await this.runOnce();
      this.failures = 0;
      return waitMs;
    } catch (error) {
      if (run.stopped) return 0;
      this.failures += 1;
      const [first, max] = this.options.errorBackoffMs;
      const waitMs = Math.min(max, first * 2 ** Math.min(this.failures - 1, 20));
      const fields = { err: error, loop: this.options.name, failures: this.failures, retry_in_ms: waitMs };
      this.options.logger.warn(fields, 'a loop of the saga runtime failed and will go on');
      return waitMs;
    }
  }

  private async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const stopTimer = this.options.clock.after(ms, resolve);
      this.wakeSleeper = () => {
        stopTimer();
        resolve();
      };
    });
    this.wakeSleeper = undefined;
  }
}
