import { Client } from 'pg';
import { failed } from '../errors.js';

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * What the relay needs of a PostgreSQL that is not ours: logical decoding, and a role that may replicate. Throws, in one
 * sentence, before anything is started.
 */
export async function checkExternalDatabase(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ wal_level: string; may_replicate: boolean; role: string }>(
      `SELECT current_setting('wal_level') AS wal_level, rolreplication OR rolsuper AS may_replicate, rolname AS role
       FROM pg_roles WHERE rolname = current_user`,
    );
    const [found] = rows;
    if (found?.wal_level !== 'logical') {
      throw failed(
        `The PostgreSQL that BATON_DATABASE_URL names has wal_level=${found?.wal_level ?? '?'}, and the relay needs ` +
          `logical: run "ALTER SYSTEM SET wal_level = logical" and restart that server.`,
      );
    }
    if (!found.may_replicate) {
      throw failed(
        `The relay reads the write-ahead log, and the role that BATON_DATABASE_URL names may not: run ` +
          `"ALTER ROLE ${found.role} REPLICATION" as a superuser.`,
      );
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
      throw failed(`The PostgreSQL that BATON_DATABASE_URL names refuses the connection: ${error.message}.`);
    }
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
