/** Why a service is not ready; undefined = it is. */
export type ReadinessCheck = () => string | undefined | Promise<string | undefined>;

export interface ReadinessReport {
  readonly ready: boolean;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly reason?: string }[];
}

const CHECK_TIMEOUT_MS = 2_000;

/**
 * Named reasons why this process should get no traffic. Liveness is another question (the event loop turns)
 * and never depends on a database or a broker: a restart would not repair those.
 */
export class Readiness {
  private readonly checks = new Map<string, ReadinessCheck>();
  private started = false;
  private draining = false;

  addCheck(name: string, check: ReadinessCheck): void {
    this.checks.set(name, check);
  }

  markStarted(): void {
    this.started = true;
  }

  markDraining(): void {
    this.draining = true;
  }

  get isStarted(): boolean {
    return this.started;
  }

  get isDraining(): boolean {
    return this.draining;
  }

  async report(): Promise<ReadinessReport> {
    const state = this.draining ? 'draining' : this.started ? undefined : 'starting';
    const own = { name: 'service', ok: state === undefined, ...(state === undefined ? {} : { reason: state }) };
    const others = await Promise.all([...this.checks].map(([name, check]) => runCheck(name, check)));
    const checks = [own, ...others];
    return { ready: checks.every((check) => check.ok), checks };
  }
}

async function runCheck(name: string, check: ReadinessCheck): Promise<{ name: string; ok: boolean; reason?: string }> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${CHECK_TIMEOUT_MS} ms`), CHECK_TIMEOUT_MS);
  });
  try {
    const reason = await Promise.race([Promise.resolve().then(check), timeout]);
    return reason === undefined ? { name, ok: true } : { name, ok: false, reason };
  } catch (error) {
    return { name, ok: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
