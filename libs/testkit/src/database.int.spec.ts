import { Client } from 'pg';
import { createDatabase, moveClock, type TestDatabase } from './index.js';

async function query<T>(url: string, sql: string): Promise<T | undefined> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows[0] as T | undefined;
  } finally {
    await client.end();
  }
}

describe('a test database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('has the schema and the publication', async () => {
    expect(await query(database.url, 'SELECT count(*)::int AS runs FROM baton.workflow_runs')).toEqual({ runs: 0 });
    expect(await query(database.url, 'SELECT pubname FROM pg_publication')).toEqual({ pubname: 'baton_outbox' });
  });

  it('is a server of its own kind: logical decoding is on', async () => {
    expect(await query(database.url, 'SHOW wal_level')).toEqual({ wal_level: 'logical' });
  });

  it('moves its clock', async () => {
    await moveClock(database.url, '1 hour');
    const row = await query<{ minutes: number }>(
      database.url,
      'SELECT round(extract(epoch FROM baton.now() - clock_timestamp()) / 60)::int AS minutes',
    );
    expect(row).toEqual({ minutes: 60 });
  });

  it('tells of a connection that was left open', async () => {
    const other = await createDatabase({ migrated: false });
    const leaked = new Client({ connectionString: other.url, application_name: 'forgotten' });
    leaked.on('error', () => undefined);
    await leaked.connect();
    await leaked.query('SELECT 1');
    await expect(other.drop()).rejects.toThrow(/were not closed: client backend forgotten idle after "SELECT 1"/);
    await leaked.end().catch(() => undefined);
  });
});
