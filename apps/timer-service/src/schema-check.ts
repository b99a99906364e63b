import { checkSchemaVersion } from '@baton/migrations';
import { Pool } from 'pg';

/** Asks on a connection of its own: a busy pool must not look like a database that is away. */
export class SchemaCheck {
  private readonly pool: Pool;

  constructor(url: string) {
    this.pool = new Pool({
      connectionString: url,
      application_name: 'baton timer-service checks',
      max: 1,
      connectionTimeoutMillis: 1_500,
      statement_timeout: 5_000,
    });
    // Reported by the next check.
    this.pool.on('error', () => undefined);
  }

  async whyNotReady(): Promise<string | undefined> {
    const check = await checkSchemaVersion(this.pool);
    return check.state === 'ok' ? undefined : check.message;
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}
