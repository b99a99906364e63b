import { setTimeout as delay } from 'node:timers/promises';
import type { ExitInfo, ProcessIdentity } from '@baton/local-stack';

/** A process that has been started. */
export interface Launched {
  readonly identity: ProcessIdentity;
  readonly exited: Promise<ExitInfo>;
  /** Asks it to end and kills it after the grace; resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
}

export interface SupervisedOptions {
  readonly name: string;
  readonly launch: () => Promise<Launched>;
  /** Called after every start. */
  readonly onStarted: (launched: Launched, restarts: number) => void;
  readonly onCrashed: (description: string, retryMs: number) => void;
  readonly backoff?: Backoff;
}

export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
  /** A process that lived this long starts again with the first wait. */
  readonly healthyMs: number;
}

const DEFAULT_BACKOFF: Backoff = { firstMs: 500, longestMs: 15_000, healthyMs: 30_000 };

/** Keeps one process running: starts it again after a crash, with growing waits, until stop(). */
export class Supervised {
  readonly name: string;
  restarts = 0;
  private current: Launched | undefined;
  private waitMs: number;
  private readonly backoff: Backoff;
  private readonly stopping = new AbortController();

  constructor(private readonly options: SupervisedOptions) {
    this.name = options.name;
    this.backoff = options.backoff ?? DEFAULT_BACKOFF;
    this.waitMs = this.backoff.firstMs;
  }

  /** The first start: its failure is the caller's. */
  async start(): Promise<void> {
    void this.keep(await this.launch());
  }

  async stop(graceMs: number): Promise<void> {
    this.stopping.abort();
    await this.current?.stop(graceMs);
  }

  private async launch(): Promise<Launched> {
    const launched = await this.options.launch();
    this.current = launched;
    // The stop came while it was starting.
    if (this.stopping.signal.aborted) await launched.stop(0);
    else this.options.onStarted(launched, this.restarts);
    return launched;
  }

  private async keep(first: Launched): Promise<void> {
    let outcome: Launched | Error = first;
    for (;;) {
      const reason =
        outcome instanceof Error ? `could not be started again: ${outcome.message}` : await this.end(outcome);
      if (this.stopping.signal.aborted) return;
      this.options.onCrashed(reason, this.waitMs);
      await delay(this.waitMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
      if (this.stopping.signal.aborted) return;
      this.waitMs = Math.min(this.waitMs * 2, this.backoff.longestMs);
      this.restarts += 1;
      outcome = await this.launch().catch((error: unknown) =>
        error instanceof Error ? error : new Error(String(error)),
      );
    }
  }

  /** Waits for the end of a process and describes it. */
  private async end(launched: Launched): Promise<string> {
    const started = performance.now();
    const { code, signal } = await launched.exited;
    if (performance.now() - started >= this.backoff.healthyMs) this.waitMs = this.backoff.firstMs;
    return signal === null ? `ended with exit code ${code ?? 'unknown'}` : `was ended by ${signal}`;
  }
}
