import type { Logger } from 'pino';

/** What one turn did, and when the next may begin. */
export interface LoopTurn {
  /** 0 = at once. */
  readonly waitMs: number;
}

export interface LoopOptions {
  readonly name: string;
  readonly logger: Logger;
  /** Pause after a turn that threw: doubles from the first value up to the second. */
  readonly errorBackoffMs?: readonly [first: number, max: number];
}

/** setTimeout fires at once beyond this (2^31 - 1). */
const MAX_TIMEOUT_MS = 2_147_483_647;

/**
 * A loop that is a service: `start()` is idempotent, `stop()` resolves when nothing is in flight, one turn is
 * `runOnce()`. An error of a turn is logged, counted and backed off; it never ends the loop or the process.
 */
export abstract class Loop {
  private abort: AbortController | undefined;
  private finished: Promise<void> = Promise.resolve();
  private wakeSleeper: (() => void) | undefined;
  private woken = false;
  private failures = 0;

  constructor(private readonly options: LoopOptions) {}

  protected abstract runOnce(signal: AbortSignal): Promise<LoopTurn>;

  start(): void {
    if (this.abort !== undefined) return;
    const abort = new AbortController();
    this.abort = abort;
    this.finished = this.finished.then(() => this.run(abort.signal));
  }

  async stop(): Promise<void> {
    const abort = this.abort;
    this.abort = undefined;
    abort?.abort();
    this.wakeSleeper?.();
    await this.finished;
  }

  /** The next turn begins now, or right after the one in flight. */
  wake(): void {
    this.woken = true;
    this.wakeSleeper?.();
  }

  /** Turns that failed since the last one that did not. */
  get failuresInARow(): number {
    return this.failures;
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.woken = false;
      const waitMs = await this.turn(signal);
      if (waitMs > 0 && !this.woken && !signal.aborted) await this.sleep(waitMs);
    }
  }

  private async turn(signal: AbortSignal): Promise<number> {
    try {
      const { waitMs } = await this.runOnce(signal);
      this.failures = 0;
      return waitMs;
    } catch (error) {
      if (signal.aborted) return 0;
      this.failures += 1;
      const [first, max] = this.options.errorBackoffMs ?? [100, 5_000];
      const waitMs = Math.min(max, first * 2 ** Math.min(this.failures - 1, 20));
      this.options.logger.warn(
        { err: error, loop: this.options.name, failures: this.failures, retry_in_ms: waitMs },
        'loop turn failed',
      );
      return waitMs;
    }
  }

  private async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, MAX_TIMEOUT_MS));
      this.wakeSleeper = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wakeSleeper = undefined;
  }
}
