import { eventually, type Platform, type ServiceProcess } from '@baton/testkit';
import { metricOf } from './gauges.js';

export interface Kill {
  readonly service: string;
  readonly pid: number;
  readonly signal: NodeJS.Signals;
  readonly inFlight: number;
}

/** What a service has taken in and not yet finished, by its own gauge. */
const IN_FLIGHT_GAUGES = ['baton_engine_calls_in_flight', 'baton_outbox_rows_under_way', 'baton_timer_due_backlog'];

/** Generous: a machine may be busy with other things. What must come out is exact all the same. */
const READY_WITHIN_MS = 300_000;
const BUSY_WITHIN_MS = 120_000;

/** Kills and freezes processes that have work in their hands, and lets them go on. */
export class ChaosMonkey {
  readonly kills: Kill[] = [];
  private readonly restarts = new Map<string, Promise<void>>();

  constructor(private readonly platform: Platform) {}

  /** `target` is a service's name, or a prefix: then the one that has most in flight is taken (the active one of a pair). */
  async killWithWorkInFlight(target: string): Promise<void> {
    await this.untilBack(target);
    const { service, inFlight } = await this.untilBusy(target);
    const { pid } = service;
    await service.kill();
    this.kills.push({ service: service.spec.name, pid, signal: 'SIGKILL', inFlight });
    service.start();
    const ready = service.ready(READY_WITHIN_MS);
    ready.catch(() => undefined); // Told by whoever waits for it.
    this.restarts.set(service.spec.name, ready);
  }

  /** Resolves when what was killed is there again. */
  async untilBack(prefix = ''): Promise<void> {
    await Promise.all([...this.restarts].flatMap(([name, ready]) => (name.startsWith(prefix) ? [ready] : [])));
  }

  /** SIGSTOP to the busiest; the caller thaws it. */
  async freezeWithWorkInFlight(
    target: string,
    least = 1,
  ): Promise<{ readonly service: ServiceProcess; readonly inFlight: number }> {
    const found = await this.untilBusy(target, least);
    found.service.freeze();
    return found;
  }

  /** Kills that count, of the services whose name begins so. */
  counted(prefix = ''): number {
    return this.kills.filter((kill) => kill.inFlight > 0 && kill.service.startsWith(prefix)).length;
  }

  /** What each counted kill of a kind found in flight. */
  countsOf(prefix: string): readonly number[] {
    return this.kills.filter((kill) => kill.service.startsWith(prefix)).map((kill) => kill.inFlight);
  }

  report(): string {
    return this.kills
      .map((kill) => `chaos: ${kill.signal} to ${kill.service} (pid ${kill.pid}) with ${kill.inFlight} in flight\n`)
      .join('');
  }

  private async untilBusy(target: string, least = 1): Promise<{ service: ServiceProcess; inFlight: number }> {
    return eventually(
      async () => {
        const found = await this.busiest(target);
        if (found === undefined || found.inFlight < least) throw new Error(`too little is in flight in ${target}`);
        return found;
      },
      { timeoutMs: BUSY_WITHIN_MS, intervalMs: 5, what: `${target} has events in flight` },
    );
  }

  private async busiest(target: string): Promise<{ service: ServiceProcess; inFlight: number } | undefined> {
    const candidates = await Promise.all(
      this.platform.named(target).map(async (service) => ({ service, inFlight: await this.inFlight(service) })),
    );
    return candidates.filter((candidate) => candidate.inFlight > 0).sort((a, b) => b.inFlight - a.inFlight)[0];
  }

  /** Workers: leases that they hold. Services: their own gauge of what they have taken in and not yet answered. */
  private async inFlight(service: ServiceProcess): Promise<number> {
    if (!service.running) return 0;
    if (service.spec.adminPort === undefined) return this.leasesOf(service);
    // A timer service that stands by may still show what it saw last when it was active.
    const isStandby = service.spec.name.startsWith('timer') && (await metricOf(service, 'baton_timer_active')) !== 1;
    return isStandby ? 0 : ((await metricOf(service, ...IN_FLIGHT_GAUGES)) ?? 0);
  }

  private leasesOf(service: ServiceProcess): Promise<number> {
    return this.platform.sql(async (client) => {
      const { rows } = await client.query<{ leases: number }>(
        `SELECT count(*)::int AS leases FROM baton.task_instances
         WHERE lease_id IS NOT NULL AND lease_owner LIKE '%' || $1 || '%' AND lease_expires_at > clock_timestamp()`,
        [String(service.pid)],
      );
      return rows[0]?.leases ?? 0;
    });
  }
}
