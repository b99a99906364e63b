import { checkSchemaVersion, migrate } from '@baton/migrations';
import {
  createEventReader,
  createPostgresStore,
  createTimerStore,
  writeStartOn,
  type PoolOptions,
} from '@baton/storage-postgres';
import { Pool, type PoolConfig } from 'pg';
import { SagaError } from '../journal/errors.js';
import { publishDefinitions } from './postgres-definitions.js';
import { postgresPositions } from './postgres-positions.js';
import { NEEDED_COLUMNS } from './needed-columns.js';
import type { SagaStore } from './saga-store.js';
import { fault, type Sql } from './sql.js';

export interface SagaStoreOptions {
  /** Either this or the fields of `pg`. */
  readonly url?: string;
  readonly config?: PoolConfig;
  /** Connections of the engine at most; a few more serve timers, events and probes. Default 10. */
  readonly poolSize?: number;
  /** `transaction`: behind a pooler that hands a connection out for one transaction at a time. Default `none`. */
  readonly pooler?: 'none' | 'transaction';
  /** Makes or updates the tables first. Needs CREATE on the database, or on a schema `baton` that is there. Default false. */
  readonly migrate?: boolean;
  /** A connection died; its statement fails by itself. For logs. */
  readonly onConnectionError?: (error: Error) => void;
}

/**
 * Opens the database of a service for sagas. Rejects (unavailable) when it cannot be reached, with
 * `SCHEMA_MISSING` when the tables are not there and `migrate` was not asked for, with `MIGRATION_DENIED` when the role
 * may not make them, and with `SCHEMA_NEWER` when a newer build has made them.
 */
export async function openSagaStore(options: SagaStoreOptions): Promise<SagaStore> {
  const { url, config, poolSize, pooler, onConnectionError } = options;
  if (options.migrate === true) await migrateFor(options);
  const pool: PoolOptions = {
    applicationName: 'baton saga',
    ...(url !== undefined && { url }),
    ...(config !== undefined && { config }),
    ...(pooler !== undefined && { pooler }),
    ...(onConnectionError !== undefined && { onConnectionError }),
  };
  const db = openSql(options);
  try {
    await checkReady(db);
  } catch (error) {
    await db.close();
    throw error;
  }
  const runs = createPostgresStore({ ...pool, ...(poolSize !== undefined && { poolSize }) });
  const timers = createTimerStore(pool);
  const events = createEventReader(pool);
  let closed: Promise<void> | undefined;
  return {
    kind: 'postgres',
    ...{ runs, timers, events },
    definitions: { publish: (namespace, definitions) => publishDefinitions(db, namespace, definitions) },
    positions: postgresPositions(db),
    writeStart: writeStartOn,
    checkReady: () => checkReady(db),
    /** Once more is the same. */
    close: () => (closed ??= closeAll([runs, timers, events, db])),
  };
}

async function closeAll(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  await Promise.all(parts.map((part) => part.close()));
}

/** A pool of its own for what is asked rarely. No prepared statements: a pooler may be in between. */
function openSql({ url, config, onConnectionError }: SagaStoreOptions): Sql {
  const pool = new Pool({
    ...config,
    ...(url !== undefined && { connectionString: url }),
    application_name: 'baton saga',
    max: 2,
    connectionTimeoutMillis: 5_000,
    query_timeout: 20_000,
  });
  // The pool repeats the errors of idle connections; unheard they would end the process.
  pool.on('error', (error) => onConnectionError?.(error));
  return {
    async query(text, values) {
      try {
        return (await pool.query<Record<string, unknown>>(text, values === undefined ? [] : [...values])).rows;
      } catch (error) {
        throw fault(error);
      }
    },
    close: () => pool.end(),
  };
}

const PROBE = `EXPLAIN ${Object.entries(NEEDED_COLUMNS)
  .map(([table, columns]) => `SELECT 1 FROM (SELECT ${columns.join(', ')} FROM baton.${table}) AS t`)
  .join(' UNION ALL ')}`;

/**
 * P5: is every table and column there that statements name? Planned with no row read, so it is cheap enough for a probe,
 * and tells what a ping of the connection cannot.
 */
async function checkReady(db: Sql): Promise<void> {
  const reader = { query: async (text: string) => ({ rows: await db.query(text) }) };
  const check = await checkSchemaVersion(reader, { library: true });
  if (check.state !== 'ok') {
    const code = check.state === 'too-new' ? 'SCHEMA_NEWER' : 'SCHEMA_MISSING';
    throw new SagaError(
      'unavailable',
      code,
      `${check.message} Or let this process do it: "migrate: true" beside the URL.`,
    );
  }
  await db.query(PROBE);
}

async function migrateFor({ url, config }: SagaStoreOptions): Promise<void> {
  const address = url ?? config?.connectionString;
  if (address === undefined) {
    throw new SagaError('invalid', 'URL_MISSING', 'migrate needs a url, or config.connectionString');
  }
  try {
    await migrate({ url: address, publication: false, library: true });
  } catch (error) {
    const { code, kind, message } = fault(error);
    if (code !== 'DATABASE_DENIED') throw new SagaError(kind, code, `migrating failed: ${message}`, { cause: error });
    const advice =
      'let a role that owns the schema run "baton migrate up --library", and open the store without migrate';
    throw new SagaError('unavailable', 'MIGRATION_DENIED', `this role may not make the tables: ${advice}`, {
      cause: error,
    });
  }
}
