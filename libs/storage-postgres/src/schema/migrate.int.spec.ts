import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createDatabase, eventually, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { checkSchemaVersion, ensurePartitions, migrate, migrationStatus, SCHEMA_VERSION } from '@baton/migrations';

describe.each([18, 15] as const)('migrations on PostgreSQL %i', (major) => {
  let database: TestDatabase;
  let client: Client;

  beforeEach(async () => {
    database = await createDatabase({ migrated: false, major });
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const tables = async () =>
    (
      await client.query<{ name: string }>(
        `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'baton' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
      )
    ).rows.map((row) => row.name);
  const publications = async () => (await client.query('SELECT pubname FROM pg_publication')).rowCount;

  it('applies once, reports what it did, and finds nothing left to do the second time', async () => {
    const messages: string[] = [];
    const first = await migrate({ url: database.url, publication: true, onProgress: (text) => messages.push(text) });
    expect(first.applied).toHaveLength(SCHEMA_VERSION + 1);
    expect(await tables()).toContain('workflow_runs');
    expect(await publications()).toBe(1);
    expect((await migrate({ url: database.url, publication: true })).applied).toEqual([]);
    expect(messages).toEqual([
      expect.stringContaining('schema: applied'),
      expect.stringContaining('publication: applied'),
    ]);
  });

  it('makes no publication in embedded mode, and can add it later (R29)', async () => {
    await migrate({ url: database.url, publication: false });
    expect(await publications()).toBe(0);
    expect((await migrate({ url: database.url, publication: true })).applied).toHaveLength(1);
    expect(await publications()).toBe(1);
  });

  it('makes the indexes of library mode for those who ask alone, on new partitions too (R29)', async () => {
    const indexes = async (table: string) =>
      (
        await client.query<{ name: string }>(
          `SELECT DISTINCT regexp_replace(i.relname, '^[a-z_]+_(default|[0-9]+)', '') AS name
           FROM pg_inherits h JOIN pg_index x ON x.indrelid = h.inhrelid JOIN pg_class i ON i.oid = x.indexrelid
           WHERE h.inhparent = $1::regclass ORDER BY 1`,
          [`baton.${table}`],
        )
      ).rows.map((row) => row.name);
    const ofLibrary = {
      task_instances: ['_namespace_queue_dispatched_at_idx', '_lease_call_idx'],
      outbox: ['_xid_seq_idx'],
    };
    await migrate({ url: database.url, publication: true });
    for (const [table, names] of Object.entries(ofLibrary)) {
      expect((await indexes(table)).filter((name) => names.includes(name))).toEqual([]);
    }
    expect(await checkSchemaVersion(client, { library: true })).toMatchObject({
      state: 'too-old',
      message: expect.stringContaining('baton migrate up --library'),
    });
    expect((await migrate({ url: database.url, publication: false, library: true })).applied).toHaveLength(1);
    expect(await checkSchemaVersion(client, { library: true })).toMatchObject({ state: 'ok' });
    await client.query('SELECT baton.ensure_partitions(3, 6)');
    for (const [table, names] of Object.entries(ofLibrary)) {
      const { rows } = await client.query<{ missing: string }>(
        `SELECT h.inhrelid::regclass::text AS missing FROM pg_inherits h, unnest($2::text[]) n
         WHERE h.inhparent = $1::regclass AND NOT EXISTS (SELECT FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
           WHERE x.indrelid = h.inhrelid AND right(i.relname, length(n)) = n)`,
        [`baton.${table}`, names],
      );
      expect(rows).toEqual([]);
    }
  });

  it('runs without superuser, in a database whose schema somebody has made', async () => {
    const role = `plain_${database.name}`;
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    await client.query(`CREATE SCHEMA baton AUTHORIZATION ${role}`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'secret';
    await migrate({ url: url.toString(), publication: false });
    expect((await migrationStatus(url.toString())).schema.pending).toEqual([]);
    await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it('lets one of five processes apply and the others find it done, also when one is killed half-way (B118)', async () => {
    const barrier = await stopHalfWay(client, database.url);
    const processes = Array.from({ length: 5 }, () => migrateInProcess(database.url));
    const exits = processes.map((child) => exitOf(child));
    const [victim] = await eventuallyRows(client, 'migrating half-way', STOPPED_HALF_WAY);
    const killed = await client.query('SELECT pg_terminate_backend($1)', [victim!['pid']]);
    expect(killed.rowCount).toBe(1);
    await eventuallyRows(
      client,
      'the next one in its place',
      `${STOPPED_HALF_WAY} AND a.pid <> ${String(victim!['pid'])}`,
    );
    await barrier.lift();

    const codes = (await Promise.all(exits)).sort();
    expect(codes).toEqual([0, 0, 0, 0, 1]);
    expect((await migrate({ url: database.url, publication: true })).applied).toEqual([]);
    expect(await checkSchemaVersion(client)).toMatchObject({ state: 'ok' });
  }, 120_000);

  it('leaves nothing behind when its process is killed half-way, and finishes the next time (B118)', async () => {
    const barrier = await stopHalfWay(client, database.url);
    const child = migrateInProcess(database.url);
    const exit = exitOf(child);
    await eventuallyRows(client, 'migrating half-way', STOPPED_HALF_WAY);
    child.kill('SIGKILL');
    await exit;
    await barrier.lift();
    await eventually(
      async () =>
        (await client.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'baton migrate'`)).rowCount === 0,
      { what: 'the server to notice' },
    );
    expect(await tables()).toEqual([]);
    expect((await migrate({ url: database.url, publication: false })).applied).toHaveLength(SCHEMA_VERSION);
  }, 120_000);

  it('tells a schema that is missing, right, and newer than this build', async () => {
    expect(await checkSchemaVersion(client)).toEqual({
      state: 'too-old',
      message: expect.stringContaining('baton migrate up'),
    });
    expect(await tables()).toEqual([]);
    await migrate({ url: database.url, publication: false });
    expect(await checkSchemaVersion(client)).toMatchObject({ state: 'ok' });
    await client.query(
      `INSERT INTO baton.schema_migrations (timestamp, name) VALUES (9999999999999, 'Future9999999999999')`,
    );
    const check = await checkSchemaVersion(client);
    expect(check.state).toBe('too-new');
    expect(check.message).toContain(`version ${SCHEMA_VERSION + 1}`);
    expect((await migrationStatus(database.url)).schema).toMatchObject({
      pending: [],
      unknown: ['Future9999999999999'],
    });
  });

  it('shows the status of a database that was never migrated without touching it', async () => {
    const status = await migrationStatus(database.url);
    expect([status.schema, status.publication, status.library].map(({ pending }) => pending.length)).toEqual([
      SCHEMA_VERSION,
      1,
      1,
    ]);
    expect((await client.query(`SELECT to_regnamespace('baton') AS schema`)).rows).toEqual([{ schema: null }]);
  });

  it('makes partitions ahead, by several callers at once, as time goes on (R25)', async () => {
    await migrate({ url: database.url, publication: false });
    const partitions = async (table: string) =>
      (
        await client.query<{ name: string }>(
          `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
           WHERE i.inhparent = $1::regclass ORDER BY 1`,
          [`baton.${table}`],
        )
      ).rows.map((row) => row.name);
    const before = await partitions('workflow_runs');
    expect(before.length).toBeGreaterThanOrEqual(3);
    const days = (await partitions('outbox')).length;
    expect(before).toContain('workflow_runs_default');
    await client.query(
      `CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
       AS $$ SELECT clock_timestamp() + interval '2 months' $$`,
    );
    const others = await Promise.all([1, 2, 3].map(() => connect(database.url)));
    await Promise.all(others.map((other) => ensurePartitions(other)));
    await Promise.all(others.map((other) => other.end()));
    expect(await partitions('workflow_runs')).toHaveLength(before.length + 2);
    expect(await partitions('outbox')).toHaveLength(days + 4);
  });

  it('does not lock running statements out while it makes a partition, nor waits for them for long (R25)', async () => {
    await migrate({ url: database.url, publication: false });
    await client.query(
      `CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
       AS $$ SELECT clock_timestamp() + interval '1 month' $$`,
    );
    const reader = await connect(database.url);
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM baton.workflow_runs');
    await expect(ensurePartitions(client)).rejects.toMatchObject({ code: '55P03' });
    await reader.query('COMMIT');
    await ensurePartitions(client);
    await reader.end();
  });

  it('goes on when rows of a month lie in the DEFAULT partition already, and says so', async () => {
    await migrate({ url: database.url, publication: false });
    await client.query(
      `INSERT INTO baton.run_journal (run_id, seq, namespace, epoch, kind, at)
       VALUES (baton.uuidv7_floor(date_trunc('month', clock_timestamp(), 'UTC') + interval '3 months 1 day'), 1, 'default', 1, 'run.started', now())`,
    );
    await client.query(
      `CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
       AS $$ SELECT clock_timestamp() + interval '2 months' $$`,
    );
    const warnings: string[] = [];
    client.on('notice', (notice) => warnings.push(notice.message ?? ''));
    await ensurePartitions(client);
    expect(warnings).toEqual([expect.stringContaining('run_journal')]);
  });

  it('fills the identity of the outbox through every partition', async () => {
    await migrate({ url: database.url, publication: false });
    await client.query(
      `INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, shard, namespace,
         created_at)
       SELECT gen_random_uuid(), 'run', 'a', 't', '{}', gen_random_uuid(), n, 'topic', 1, 'default',
         clock_timestamp() + n * interval '1 day' FROM generate_series(0, 5) n`,
    );
    const { rows } = await client.query<{ seq: string }>('SELECT seq FROM baton.outbox ORDER BY created_at');
    expect(rows.map((row) => Number(row.seq))).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

/** A table of this name is being made by somebody else: a migration waits for it when it has made most of the others. */
async function stopHalfWay(client: Client, url: string): Promise<{ lift(): Promise<void> }> {
  await client.query('CREATE SCHEMA baton');
  const holder = await connect(url);
  await holder.query('BEGIN');
  await holder.query('CREATE TABLE baton.service_leases (role text)');
  return {
    async lift() {
      await holder.query('ROLLBACK');
      await holder.end();
    },
  };
}

const STOPPED_HALF_WAY = `
  SELECT a.pid FROM pg_stat_activity a
  WHERE a.datname = current_database() AND a.application_name = 'baton migrate' AND a.wait_event = 'transactionid'`;

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

async function eventuallyRows(client: Client, what: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  let rows: readonly Record<string, unknown>[] = [];
  await eventually(
    async () => {
      rows = (await client.query(sql)).rows;
      return rows.length > 0;
    },
    { what, timeoutMs: 60_000 },
  );
  return rows;
}

/** A process of its own, as a pod would be. */
function migrateInProcess(url: string): ChildProcess {
  return spawn(process.execPath, [join(__dirname, 'testing', 'migrate-process.cjs'), url], {
    stdio: 'ignore',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}
