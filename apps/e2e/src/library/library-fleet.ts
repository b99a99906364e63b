import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, startPostgres, type RunningPostgres } from '@baton/local-stack';
import { migrate } from '@baton/migrations';
import { ServiceProcess } from '@baton/testkit';
import { Client } from 'pg';

export interface FleetOptions {
  readonly processes: number;
  /** Every step takes this long. */
  readonly stepMs: number;
  readonly leaseMs: number;
  readonly readyWithinMs?: number;
}

/**
 * Several processes of the example service with the runtime inside, on one PostgreSQL, and a second PostgreSQL for the
 * ledger of what their steps did. No Kafka, no service of Baton's.
 */
export class LibraryFleet {
  private constructor(
    readonly postgres: RunningPostgres,
    private readonly ledger: RunningPostgres,
    readonly services: readonly ServiceProcess[],
    private readonly dir: string,
  ) {}

  static async start({ processes, stepMs, leaseMs, readyWithinMs = 120_000 }: FleetOptions): Promise<LibraryFleet> {
    const dir = mkdtempSync(join(tmpdir(), 'baton-library-'));
    const postgres = await startPostgres({ dataDir: join(dir, 'postgres') });
    const ledger = await startPostgres({ dataDir: join(dir, 'ledger'), settings: { fsync: 'off' } });
    // Once, before the fleet: the processes find nothing left to do.
    await migrate({ url: postgres.url, publication: false, library: true });
    const services: ServiceProcess[] = [];
    for (let number = 1; number <= processes; number += 1) {
      const port = await freePort();
      const env = {
        BATON_DATABASE_URL: postgres.url,
        BATON_LEDGER_URL: ledger.url,
        BATON_HTTP_PORT: String(port),
        BATON_STEP_MS: String(stepMs),
        BATON_LEASE_MS: String(leaseMs),
        BATON_LOG_LEVEL: 'warn',
        NODE_COMPILE_CACHE: join(dir, 'compile-cache'),
      };
      const spec = { name: `orders-${number}`, script: 'examples/embedded-saga/dist/main.js', env, adminPort: port };
      services.push(new ServiceProcess(spec, join(dir, 'logs')));
    }
    const fleet = new LibraryFleet(postgres, ledger, services, dir);
    try {
      for (const service of services) service.start();
      await Promise.all(services.map((service) => service.ready(readyWithinMs)));
      return fleet;
    } catch (error) {
      await fleet.stop().catch(() => undefined);
      throw error;
    }
  }

  urlOf(service: ServiceProcess): string {
    return `http://127.0.0.1:${service.spec.adminPort ?? 0}`;
  }

  /** Rows of the sagas' database, or of the ledger, by a connection of its own. */
  async rows<Row extends object>(sql: string, from: 'sagas' | 'ledger' = 'sagas'): Promise<readonly Row[]> {
    const client = new Client({ connectionString: (from === 'sagas' ? this.postgres : this.ledger).url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Ends the processes in order; the databases stay, to be looked at. */
  async stopServices(): Promise<void> {
    const stopped = await Promise.allSettled(this.services.map((service) => service.stop(30_000)));
    const failed = stopped.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async stop(): Promise<void> {
    await Promise.all(this.services.map((service) => service.kill()));
    await Promise.allSettled([this.postgres.stop(), this.ledger.stop()]);
    if (process.env['BATON_KEEP_PLATFORM'] !== '1') rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }
}
