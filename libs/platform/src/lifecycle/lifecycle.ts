import type { Logger } from 'pino';

/**
 * Order of an orderly stop (B122). Readiness is false before the first phase.
 * intake:  stop taking work (loops, consumers, leases of roles)
 * drain:   finish what is in flight
 * servers: close listeners (HTTP, gRPC) after their calls have been answered
 * storage: close pools and producers, which everything before may need
 * flush:   telemetry and logs
 */
export const SHUTDOWN_PHASES = ['intake', 'drain', 'servers', 'storage', 'flush'] as const;
export type ShutdownPhase = (typeof SHUTDOWN_PHASES)[number];

export type ShutdownHook = () => void | Promise<void>;

export interface ShutdownOutcome {
  /** false: the hard deadline passed, or a hook failed. */
  readonly clean: boolean;
}

export class Lifecycle {
  private readonly hooks = new Map<ShutdownPhase, { name: string; hook: ShutdownHook }[]>();
  private running: Promise<ShutdownOutcome> | undefined;
  private current = 'readiness';

  constructor(
    private readonly logger: Logger,
    private readonly timeoutMs: number,
  ) {}

  /** Hooks of one phase run side by side; a phase begins when the one before it has ended. */
  onShutdown(phase: ShutdownPhase, name: string, hook: ShutdownHook): void {
    const list = this.hooks.get(phase) ?? [];
    list.push({ name, hook });
    this.hooks.set(phase, list);
  }

  /** Every later call gets the outcome of the first: hooks run once. */
  shutdown(): Promise<ShutdownOutcome> {
    this.running ??= this.runUnderDeadline();
    return this.running;
  }

  private async runUnderDeadline(): Promise<ShutdownOutcome> {
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<ShutdownOutcome>((resolve) => {
      timer = setTimeout(() => {
        this.logger.error({ phase: this.current, timeout_ms: this.timeoutMs }, 'stop took too long; giving up');
        resolve({ clean: false });
      }, this.timeoutMs);
    });
    const outcome = await Promise.race([this.runPhases(), deadline]);
    clearTimeout(timer);
    return outcome;
  }

  private async runPhases(): Promise<ShutdownOutcome> {
    let clean = true;
    for (const phase of SHUTDOWN_PHASES) {
      this.current = phase;
      const results = await Promise.all((this.hooks.get(phase) ?? []).map((entry) => this.runHook(phase, entry)));
      clean &&= results.every(Boolean);
    }
    return { clean };
  }

  private async runHook(phase: ShutdownPhase, entry: { name: string; hook: ShutdownHook }): Promise<boolean> {
    try {
      await entry.hook();
      this.logger.debug({ phase, hook: entry.name }, 'stopped');
      return true;
    } catch (error) {
      this.logger.error({ err: error, phase, hook: entry.name }, 'shutdown hook failed');
      return false;
    }
  }
}
