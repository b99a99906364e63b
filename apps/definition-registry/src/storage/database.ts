import { checkSchemaVersion } from '@baton/migrations';
import type { Logger } from '@baton/platform';
import { ApiError } from '@baton/wire';
import { DataSource } from 'typeorm';
import { DeployedDefinition, WorkflowDefinition } from './entities.js';

const POOL_SIZE = 4;

/**
 * TypeORM's DataSource, connected on first use: the service starts without a database, says so in /readyz, and works
 * as soon as there is one. The schema belongs to the migrations, never to `synchronize`.
 */
export class Database {
  private readonly source: DataSource;
  private connecting: Promise<DataSource> | undefined;

  constructor(
    url: string,
    private readonly logger: Logger,
  ) {
    this.source = new DataSource({
      type: 'postgres',
      url,
      schema: 'baton',
      applicationName: 'baton definition-registry',
      entities: [WorkflowDefinition, DeployedDefinition],
      synchronize: false,
      migrationsRun: false,
      installExtensions: false,
      logging: false,
      poolSize: POOL_SIZE,
      connectTimeoutMS: 5_000,
      // An idle connection that dies is replaced by the next query; it must not end the process (B116).
      poolErrorHandler: (error: Error) => this.logger.warn({ err: error }, 'an idle database connection was lost'),
      extra: { statement_timeout: 10_000, lock_timeout: 5_000, idle_in_transaction_session_timeout: 10_000 },
    });
  }

  /** Runs `work` on a connected source; what the database cannot do now is UNAVAILABLE. */
  async use<T>(work: (source: DataSource) => Promise<T>): Promise<T> {
    try {
      return await work(await this.connect());
    } catch (error) {
      if (error instanceof ApiError || isBug(error)) throw error;
      this.logger.error({ err: error }, 'database call failed');
      const message = 'the database cannot be used now; try again';
      throw new ApiError('unavailable', 'DATABASE_UNAVAILABLE', message).because(error);
    }
  }

  async whyNotReady(): Promise<string | undefined> {
    const source = await this.connect();
    const check = await checkSchemaVersion({
      query: async (text) => ({ rows: await source.query<Record<string, unknown>[]>(text) }),
    });
    return check.state === 'ok' ? undefined : check.message;
  }

  async close(): Promise<void> {
    await this.connecting?.catch(() => undefined);
    if (this.source.isInitialized) await this.source.destroy();
  }

  private async connect(): Promise<DataSource> {
    if (this.source.isInitialized) return this.source;
    // One attempt at a time; the next caller after a failure tries again.
    this.connecting ??= this.source.initialize().finally(() => {
      this.connecting = undefined;
    });
    return this.connecting;
  }
}

/** Trying again would not help: it goes out as INTERNAL. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}
