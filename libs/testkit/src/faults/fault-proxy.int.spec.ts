import { Client, Pool } from 'pg';
import { createDatabase, type TestDatabase } from '../database.js';
import { eventually } from '../eventually.js';
import { startFaultProxy, type FaultProxy } from './fault-proxy.js';

/** The ways in which a client can commit one row. */
const WAYS = {
  'BEGIN and COMMIT': async (client: Client, n: number) => {
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES ($1)', [n]);
    await client.query('COMMIT');
  },
  'a prepared END': async (client: Client, n: number) => {
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES ($1)', [n]);
    await client.query({ name: 'end', text: 'END' });
  },
  'a named statement that commits by itself': async (client: Client, n: number) => {
    await client.query({ name: 'read', text: 'SELECT n FROM t FOR UPDATE' });
    await client.query({
      name: 'insert',
      text: 'WITH w AS (INSERT INTO t VALUES ($1) RETURNING n) SELECT n FROM w',
      values: [n],
    });
  },
  'all in one query': async (client: Client, n: number) => {
    await client.query(`BEGIN; INSERT INTO t VALUES (${n}); COMMIT`);
  },
} as const;

describe('a fault proxy before PostgreSQL', () => {
  let database: TestDatabase;
  let direct: Pool;
  let proxy: FaultProxy;
  let row = 0;
  const clients: Client[] = [];

  beforeAll(async () => {
    database = await createDatabase({ migrated: false });
    direct = new Pool({ connectionString: database.url, max: 1 });
    await direct.query('CREATE TABLE t (n integer PRIMARY KEY)');
    const { hostname, port } = new URL(database.url);
    proxy = await startFaultProxy({ target: { host: hostname, port: Number(port) } });
  });

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
  });

  afterAll(async () => {
    await proxy.close();
    await direct.end();
    await database.drop();
  });

  async function connected(): Promise<Client> {
    const client = new Client({ connectionString: proxy.url(database.url), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  }

  async function isStored(n: number): Promise<boolean> {
    return (await direct.query('SELECT 1 FROM t WHERE n = $1', [n])).rowCount === 1;
  }

  async function othersAreGone(): Promise<void> {
    await eventually(
      async () => {
        const { rows } = await direct.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        );
        return rows.length === 0;
      },
      { what: 'the backend of the cut connection to end' },
    );
  }

  const lost = /terminated|ECONNRESET|not queryable/;

  describe.each(Object.entries(WAYS))('with %s', (_name, commit) => {
    it('lets everything pass when it is told nothing', async () => {
      const client = await connected();
      await commit(client, (row += 1));
      expect(await isStored(row)).toBe(true);
    });

    it.each([false, true])('has committed when the answer is lost (reset: %s)', async (reset) => {
      const client = await connected();
      const fault = proxy.cutAfterCommit({ reset });
      await expect(commit(client, (row += 1))).rejects.toThrow(lost);
      await fault.done;
      expect(await isStored(row)).toBe(true);
      await othersAreGone();
    });

    it('has not committed when the commit is lost', async () => {
      const client = await connected();
      const fault = proxy.cutBeforeCommit();
      await expect(commit(client, (row += 1))).rejects.toThrow(lost);
      await fault.done;
      await othersAreGone();
      expect(await isStored(row)).toBe(false);
    });

    it('commits behind the back of a client that is cut during the commit', async () => {
      const client = await connected();
      const fault = proxy.cutDuringCommit();
      await expect(commit(client, (row += 1))).rejects.toThrow(lost);
      await fault.done;
      await eventually(() => isStored(row), { what: 'the commit' });
      await othersAreGone();
    });
  });

  it('holds a commit up, and lets it arrive when its client has long gone', async () => {
    const client = await connected();
    const fault = proxy.holdCommit();
    await expect(client.query('INSERT INTO t VALUES ($1)', [(row += 1)])).rejects.toThrow(lost);
    await fault.done;
    expect(await isStored(row)).toBe(false);
    fault.deliver();
    await eventually(() => isStored(row), { what: 'the late commit' });
    await othersAreGone();
  });

  it('counts only what was committed: the answer to a refused commit arrives', async () => {
    const client = await connected();
    const fault = proxy.cutAfterCommit();
    await expect(client.query('INSERT INTO t VALUES ($1)', [null])).rejects.toThrow(/null value/);
    expect(fault.happened).toBe(0);
    await client.query('BEGIN');
    await expect(client.query('SELECT 1 / 0')).rejects.toThrow(/division/);
    expect((await client.query('COMMIT')).command).toBe('ROLLBACK');
    await expect(client.query('INSERT INTO t VALUES ($1)', [(row += 1)])).rejects.toThrow(lost);
    expect([fault.happened, await isStored(row)]).toEqual([1, true]);
  });

  it('breaks as many commits as was asked, and only those that match', async () => {
    const fault = proxy.cutAfterCommit({ count: 2, matching: (sql) => sql.includes('VALUES') });
    for (const wanted of [1, 2, 2]) {
      const client = await connected();
      await client.query('DELETE FROM t WHERE n < 0');
      await client.query('INSERT INTO t VALUES ($1)', [(row += 1)]).catch(() => undefined);
      expect(fault.happened).toBe(wanted);
    }
    await fault.done;
    const unused = proxy.cutBeforeCommit();
    unused.disarm();
    const client = await connected();
    await client.query('INSERT INTO t VALUES ($1)', [(row += 1)]);
  });

  it('cuts what is open, and lets new connections in', async () => {
    const client = await connected();
    const sleeping = client.query('SELECT pg_sleep(60)');
    proxy.cut();
    await expect(sleeping).rejects.toThrow(lost);
    await eventually(() => proxy.connections === 0, { what: 'the connections to be gone' });
    await connected();
    await direct.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'`);
  });

  it('refuses new connections, and keeps the open ones', async () => {
    const client = await connected();
    proxy.refuse(true);
    await expect(connected()).rejects.toThrow();
    expect((await client.query('SELECT 1')).rowCount).toBe(1);
    proxy.refuse(false);
    await connected();
  });

  it('delays both directions', async () => {
    const client = await connected();
    proxy.delay(60);
    const started = performance.now();
    await client.query('SELECT 1');
    expect(performance.now() - started).toBeGreaterThanOrEqual(118);
    proxy.delay(0);
    await client.query('SELECT 1');
  });

  it('freezes: connections stay, nothing arrives, and everything does after the thaw', async () => {
    const client = await connected();
    proxy.freeze();
    let isAnswered = false;
    const insert = client.query('INSERT INTO t VALUES ($1)', [(row += 1)]).then(() => (isAnswered = true));
    await expect(connected()).rejects.toThrow(/timeout/);
    expect([isAnswered, await isStored(row)]).toEqual([false, false]);
    proxy.thaw();
    await insert;
    expect(await isStored(row)).toBe(true);
  });

  it('delivers after the thaw what a client that has given up had sent', async () => {
    const client = await connected();
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES ($1)', [(row += 1)]);
    proxy.freeze();
    const commit = client.query('COMMIT').catch(() => undefined);
    client.connection.stream.destroy();
    await commit;
    expect(await isStored(row)).toBe(false);
    proxy.thaw();
    await eventually(() => isStored(row), { what: 'the late commit' });
  });
});
