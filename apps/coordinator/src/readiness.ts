import { checkSchemaVersion, ensurePartitions } from '@baton/migrations';
import type { Logger, Readiness } from '@baton/platform';
import { Pool } from 'pg';

/** Made by the publication's own migration set (R29). */
const PUBLICATION = 'baton_outbox';

/**
 * Questions about the database that are not the engine's: one connection of its own, so that a busy pool does not
 * look like a database that is away.
 */
export class DatabaseChecks {
  private readonly pool: Pool;
  private isOutboxReady = false;

  constructor(
    url: string,
    private readonly logger: Logger,
  ) {
    this.pool = new Pool({
      connectionString: url,
      application_name: 'baton coordinator checks',
      max: 1,
      connectionTimeoutMillis: 1_500,
      statement_timeout: 5_000,
      idleTimeoutMillis: 30_000,
    });
    this.pool.on('error', (error) => logger.debug({ err: error }, 'the connection of the checks broke'));
  }

  register(readiness: Readiness): void {
    readiness.addCheck('database', () => this.schemaProblem());
    readiness.addCheck('outbox', () => this.outboxProblem());
  }

  /** R25: partitions are made ahead at every start. Rows without one go to the DEFAULT partition: no reason to wait. */
  async makePartitions(): Promise<void> {
    try {
      if ((await this.schemaProblem()) === undefined) await ensurePartitions(this.pool);
    } catch (error) {
      this.logger.warn(
        { err: error },
        'partitions could not be made ahead; the next start or the timer service tries again',
      );
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  private async schemaProblem(): Promise<string | undefined> {
    try {
      const check = await checkSchemaVersion(this.pool);
      return check.state === 'ok' ? undefined : check.message;
    } catch (error) {
      return `The database does not answer: ${(error as Error).message}`;
    }
  }

  /**
   * R26: publication, slot, then readiness, so that no commit comes before there is somebody to tail it. Once seen it
   * counts as there: a slot that is lost later is the relay's to repair, the outbox rows wait.
   */
  private async outboxProblem(): Promise<string | undefined> {
    if (this.isOutboxReady) return undefined;
    const { rows } = await this.pool.query<{ publication: boolean; slot: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = $1) AS publication,
              EXISTS (SELECT FROM pg_replication_slots
                      WHERE database = current_database() AND slot_type = 'logical' AND plugin = 'pgoutput') AS slot`,
      [PUBLICATION],
    );
    const found = rows[0];
    if (found?.publication !== true) return `The publication ${PUBLICATION} does not exist: run "baton migrate up".`;
    if (!found.slot) return 'No replication slot exists yet: start the outbox relay, which makes it.';
    this.isOutboxReady = true;
    return undefined;
  }
}
