import { eventually, type Platform, type ServiceProcess } from '@baton/testkit';

interface Kill {
  readonly service: string;
  readonly pid: number;
  readonly signal: NodeJS.Signals;
  readonly inFlight: number;
}

/** What a service has taken in and not yet finished, by its own gauge. */
const IN_FLIGHT_GAUGES = new Set([
  'baton_engine_calls_in_flight',
  'baton_outbox_rows_under_way',
  'baton_timer_due_backlog',
]);

/** Kills processes that have work in their hands, and starts them again. */
export class ChaosMonkey {
  private readonly kills: Kill[] = [];

  constructor(private readonly platform: Platform) {}

  /** `target` is a service's name, or a prefix: then the one that has most in flight is taken (the active one of a pair). */
  async killWithWorkInFlight(target: string): Promise<void> {
    const { service, inFlight } = await eventually(
      async () => {
        const found = await this.busiest(target);
        if (found === undefined) throw new Error(`nothing is in flight in ${target}`);
        return found;
      },
      { timeoutMs: 30_000, what: `${target} has events in flight` },
    );
    const { pid } = service;
    await service.kill();
    this.kills.push({ service: service.spec.name, pid, signal: 'SIGKILL', inFlight });
    service.start();
    await service.ready(60_000);
  }

  counted(): number {
    return this.kills.filter((kill) => kill.inFlight > 0).length;
  }

  report(): string {
    return this.kills
      .map((kill) => `chaos: ${kill.signal} to ${kill.service} (pid ${kill.pid}) with ${kill.inFlight} in flight\n`)
      .join('');
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
    const answer = await fetch(`http://127.0.0.1:${service.spec.adminPort}/metrics`).catch(() => undefined);
    const text = (await answer?.text()) ?? '';
    return text.split('\n').reduce((sum, line) => {
      const [, name, value] = /^(\w+)(?:\{[^}]*\})? ([\d.e+]+)$/.exec(line) ?? [];
      return name !== undefined && IN_FLIGHT_GAUGES.has(name) ? sum + Number(value) : sum;
    }, 0);
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
