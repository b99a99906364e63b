import { randomBytes } from 'node:crypto';
import { startPostgres, type PostgresMajor } from '@baton/local-stack';
import { migrate } from '@baton/migrations';
import type { Client } from 'pg';
import { withClient } from './client.js';
import { eventually } from './eventually.js';
import { sharedServer } from './run-folder.js';

export interface TestDatabaseOptions {
  /** With the whole schema and the publication (the default), or empty. */
  readonly migrated?: boolean;
  /** As the embedded runtime has it: the schema and the indexes of library mode, no publication (R29). */
  readonly library?: boolean;
  /** false: on a server that cannot do logical decoding at all. */
  readonly logicalDecoding?: boolean;
  readonly major?: PostgresMajor;
}

export interface TestDatabase {
  readonly url: string;
  readonly name: string;
  /** Throws when somebody is still connected: a pool that was not closed. */
  drop(): Promise<void>;
}

const TEMPLATES = { platform: 'baton_template', library: 'baton_template_library' } as const;
/** Any number: the same in all workers. */
const TEMPLATE_LOCK = 7_401_842;
const LEAK_GRACE_MS = 3_000;

/** Durability is off: these servers never outlive the run. A SIGKILL of the server still loses nothing. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  max_replication_slots: '64',
  max_wal_senders: '64',
  max_wal_size: '2GB',
};

const MINIMAL = { wal_level: 'minimal', max_replication_slots: '0', max_wal_senders: '0' };

/** The release for tests that name none: the newest, or the one that the long test of all releases is at. */
export function defaultMajor(): PostgresMajor {
  const asked = Number(process.env['BATON_TEST_POSTGRES'] ?? '18');
  const found = ([14, 15, 16, 17, 18] as const).find((major) => major === asked);
  if (found === undefined) throw new Error(`BATON_TEST_POSTGRES is ${asked}: there is 14, 15, 16, 17 and 18.`);
  return found;
}

/** A database for one test file, cloned from a template in some ten milliseconds. */
export async function createDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { migrated = true, major = defaultMajor(), library = false, logicalDecoding = true } = options;
  const mode = library ? 'library' : 'platform';
  const server = await postgresServer(major, logicalDecoding);
  const name = `test_${randomBytes(6).toString('hex')}`;
  if (migrated) await ensureTemplate(server, mode);
  await withClient(server, async (client) => {
    await client.query(`CREATE DATABASE ${name}${migrated ? ` TEMPLATE ${TEMPLATES[mode]}` : ''}`);
  });
  return { name, url: urlOf(server, name), drop: () => dropDatabase(server, name) };
}

async function postgresServer(major: PostgresMajor, logicalDecoding: boolean): Promise<string> {
  const name = logicalDecoding ? `postgres-${major}` : `postgres-${major}-minimal`;
  const settings = logicalDecoding ? SETTINGS : { ...SETTINGS, ...MINIMAL };
  const { address } = await sharedServer(name, async (folder) => {
    const server = await startPostgres({ dataDir: folder, major, settings });
    server.detach();
    return { address: server.url, process: server.identity };
  });
  return address;
}

async function ensureTemplate(server: string, mode: keyof typeof TEMPLATES): Promise<void> {
  const template = TEMPLATES[mode];
  await withClient(server, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount !== 0) return;
    // Renamed when it is complete: a template that failed half-way is never cloned.
    const unfinished = `${template}_${randomBytes(4).toString('hex')}`;
    await client.query(`CREATE DATABASE ${unfinished}`);
    await migrate({ url: urlOf(server, unfinished), publication: mode === 'platform', library: mode === 'library' });
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${template}`);
  });
}

async function dropDatabase(server: string, name: string): Promise<void> {
  await withClient(server, async (client) => {
    const leaks = await remainingSessions(client, name);
    await dropSlots(client, name);
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    if (leaks.length > 0) throw new Error(`Connections to ${name} were not closed: ${leaks.join('; ')}`);
  });
}

/** Sessions that do not go away by themselves within the grace. */
async function remainingSessions(client: Client, name: string): Promise<readonly string[]> {
  let sessions: readonly string[] = [];
  await eventually(
    async () => {
      const { rows } = await client.query<{ session: string }>(
        `SELECT concat_ws(' ', backend_type, nullif(application_name, ''), state, 'after "' || left(query, 80) || '"') AS session
         FROM pg_stat_activity WHERE datname = $1 AND backend_type IN ('client backend', 'walsender') ORDER BY pid`,
        [name],
      );
      sessions = rows.map((row) => row.session);
      return sessions.length === 0;
    },
    { timeoutMs: LEAK_GRACE_MS, what: 'sessions to end' },
  ).catch(() => undefined);
  return sessions;
}

/** A database with a replication slot cannot be dropped; a slot in use was reported as a leak already. */
async function dropSlots(client: Client, name: string): Promise<void> {
  await client.query(
    'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = $1 AND active',
    [name],
  );
  await eventually(
    async () => {
      await client.query('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = $1', [
        name,
      ]);
      return true;
    },
    { what: 'replication slots to be dropped' },
  );
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.toString();
}
