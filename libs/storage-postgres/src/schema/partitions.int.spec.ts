import { ensurePartitions } from '@baton/migrations';
import { createDatabase, eventually, moveClock, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';

describe('partitions', () => {
  let database: TestDatabase;
  const clients: Client[] = [];

  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.end();
    await database.drop();
  });

  async function connect(): Promise<Client> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    clients.push(client);
    return client;
  }

  it('R25: every partitioned table has a DEFAULT partition, and those of now and of what comes next', async () => {
    const client = await connect();
    const { rows } = await client.query<{ tab: string; has_default: boolean; ahead: string[] }>(
      `SELECT t.relname AS tab, p.partdefid <> 0 AS has_default,
         ARRAY(SELECT right(c.relname, CASE WHEN c.relname LIKE 'outbox%' THEN 8 ELSE 6 END)
           FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
           WHERE i.inhparent = p.partrelid AND c.oid <> p.partdefid ORDER BY 1) AS ahead
       FROM pg_partitioned_table p JOIN pg_class t ON t.oid = p.partrelid
       WHERE t.relnamespace = 'baton'::regnamespace ORDER BY 1`,
    );
    expect(rows.map(({ tab, has_default }) => [tab, has_default])).toEqual(
      ['outbox', 'run_journal', 'run_payloads', 'signals', 'task_instances', 'workflow_runs'].map((tab) => [tab, true]),
    );
    const [{ month, next, day, days } = { month: '', next: '', day: '', days: '' }] = (
      await client.query<{ month: string; next: string; day: string; days: string }>(
        `SELECT to_char(t, 'YYYYMM') AS month, to_char(t + interval '1 month', 'YYYYMM') AS next,
           to_char(t, 'YYYYMMDD') AS day, to_char(t + interval '3 days', 'YYYYMMDD') AS days
         FROM (SELECT clock_timestamp() AT TIME ZONE 'UTC' AS t) n`,
      )
    ).rows;
    for (const { tab, ahead } of rows) {
      expect({ tab, ahead }).toEqual({
        tab,
        ahead: expect.arrayContaining(tab === 'outbox' ? [day, days] : [month, next]) as string[],
      });
    }
  });

  it('R25: who makes partitions waits for whoever makes them already', async () => {
    const [first, second, observer] = [await connect(), await connect(), await connect()];
    await moveClock(database.url, '3 months');
    const waits = async (mode: string) =>
      (
        await observer.query(
          `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mode = $1`,
          [mode],
        )
      ).rows.length;
    await first.query('BEGIN');
    const { rows } = await first.query<{ made: number }>('SELECT baton.ensure_partitions() AS made');
    expect(rows[0]?.made).toBeGreaterThan(10);
    const made = second.query<{ made: number }>('SELECT baton.ensure_partitions() AS made');
    await eventually(async () => (await waits('ExclusiveLock')) === 1, {
      what: 'the second to wait',
      timeoutMs: 2_500,
    });
    await first.query('COMMIT');
    expect((await made).rows).toEqual([{ made: 0 }]);
    await ensurePartitions(second);
  });
});
