import type { DoctorReport } from '@baton/doctor';
import { single } from '@baton/engine/testing';
import { engineOn, NAMESPACE, publish } from '@baton/storage-postgres/testing';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import type { Screen } from '../io/output.js';
import { runProgram } from '../program.js';

describe('baton doctor', () => {
  let database: TestDatabase;
  let empty: TestDatabase;
  let bare: TestDatabase;
  let client: Client;
  let runId: string;
  let printed = '';
  let complained = '';
  const screen: Screen = {
    out: (text) => (printed += text),
    err: (text) => (complained += text),
    isTerminal: false,
    width: 80,
  };

  beforeAll(async () => {
    [database, empty, bare] = await Promise.all([
      createDatabase(),
      createDatabase(),
      createDatabase({ migrated: false }),
    ]);
    client = new Client({ connectionString: database.url });
    await client.connect();
    await publish({ query: async (sql, values) => (await client.query(sql, values)).rows }, single);
    const { engine, close } = engineOn(database.url);
    ({ runId } = await engine.start({ namespace: NAMESPACE, definitionId: 'single', input: null }));
    await close();
  });
  beforeEach(() => {
    printed = '';
    complained = '';
  });
  afterAll(async () => {
    await client?.end();
    await Promise.all([database, empty, bare].map((one) => one?.drop()));
  });

  const doctor = (url: string, ...args: string[]): Promise<number> =>
    runProgram(['doctor', '--database-url', url, ...args], screen);

  it('ends with 0 and a line for each check when it has looked and found nothing', async () => {
    expect(await doctor(database.url)).toBe(0);
    expect(printed).toMatch(/^CHECK +RULE +FINDINGS +LOOKED AT\n/);
    expect(printed).toMatch(/\nwake-ups +I6 +none +1 task, 0 timers\n/);
    expect(printed).toMatch(/\ntopics +I8 +skipped +no brokers were given\n/);
    expect(printed).toMatch(/\nNothing found\.\n$/);
    expect(complained).toBe('');
  });

  it('ends with 1 and says what, where and by which code when it has found something', async () => {
    await client.query(`UPDATE baton.workflow_runs SET stuck_reason = 'decide threw'`);
    expect(await doctor(database.url)).toBe(1);
    expect(printed).toContain(`R8 RUN_STUCK  default, run ${runId}\n   decide threw\n`);
    expect(complained).toContain('1 finding');
    printed = '';
    expect(await doctor(database.url, '-o', 'json', '--namespace', NAMESPACE)).toBe(1);
    const report = JSON.parse(printed) as DoctorReport;
    expect(report).toMatchObject({ ok: false, examined: { runs: 1 }, findings: [{ code: 'RUN_STUCK', runId }] });
    await client.query('UPDATE baton.workflow_runs SET stuck_reason = NULL');
  });

  it('ends with 1 when there was nothing to examine', async () => {
    expect(await doctor(empty.url)).toBe(1);
    expect(complained).toContain('nothing was examined');
    expect(await doctor(database.url, '--namespace', 'nobodys')).toBe(1);
  });

  it('ends with 1 when a part cannot be looked at: the schema, Kafka', async () => {
    expect(await doctor(bare.url)).toBe(1);
    expect(printed).toContain('UNABLE to look at the schema');
    expect(await doctor(database.url, '--brokers', '127.0.0.1:1')).toBe(1);
    expect(printed).toContain('UNABLE to look at the topics');
    await client.query(`INSERT INTO baton.schema_migrations (timestamp, name) VALUES (9, 'FromTheFuture9')`);
    expect(await doctor(database.url)).toBe(1);
    expect(printed).toContain('made by a newer Baton');
    await client.query(`DELETE FROM baton.schema_migrations WHERE name = 'FromTheFuture9'`);
  });

  it('ends with 2 for what was not understood, with 3 when no database answers', async () => {
    expect(await doctor('mysql://x')).toBe(2);
    expect(await doctor(database.url, '--namespace', 'Not a name')).toBe(2);
    expect(await doctor('postgres://127.0.0.1:9/x')).toBe(3);
  });
});
