import {
  completedReport,
  engineOn,
  failedReport,
  NAMESPACE,
  openTasks,
  publish,
  type EngineOnPostgres,
} from '@baton/storage-postgres/testing';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import type { RunDetailsView, RunPageView } from '../../client/views.js';
import { runProgram } from '../../program.js';
import { RecordingScreen } from '../../testing/stub-gateway.js';

const order = JSON.stringify({
  id: 'order',
  version: 1,
  nodes: [
    { id: 'reserve', type: 'task', queue: 'order', compensate: { task: 'reserve.undo', retry: { maxAttempts: 1 } } },
    { id: 'charge', type: 'task', queue: 'order', after: ['reserve'], retry: { maxAttempts: 1 } },
  ],
});
// What JSON.parse would change.
const input = '{"b": 12345678901234567890, "2": 1.10}';

/** "baton saga" against a database as the embedded runtime has it: no broker, no service, no gateway. */
describe('baton saga', () => {
  let database: TestDatabase;
  let bare: TestDatabase;
  let client: Client;
  let one: EngineOnPostgres;
  let screen: RecordingScreen;
  let failedUndo: string;
  let succeeded: string;

  const queries = { query: async (sql: string, values?: unknown[]) => (await client.query(sql, values)).rows };
  const saga = (...args: string[]): Promise<number> =>
    runProgram(['saga', ...args, '--database-url', database.url], screen);
  const settle = async (runId: string, report: typeof completedReport): Promise<void> => {
    const [task] = (await openTasks(queries)).get(runId) ?? [];
    if (task === undefined) throw new Error(`run ${runId} has no open task`);
    await one.engine.report(report(runId, task));
  };

  beforeAll(async () => {
    [database, bare] = await Promise.all([createDatabase({ library: true }), createDatabase({ migrated: false })]);
    client = new Client({ connectionString: database.url });
    await client.connect();
    await publish(queries, order);
    one = engineOn(database.url, { route: 'local' });
    const start = (businessKey: string) =>
      one.engine.start({ namespace: NAMESPACE, definitionId: 'order', input, businessKey });
    ({ runId: succeeded } = await start('first'));
    for (const _step of ['reserve', 'charge']) await settle(succeeded, completedReport);
    ({ runId: failedUndo } = await start('second'));
    await settle(failedUndo, completedReport);
    for (const _step of ['charge', 'undo']) await settle(failedUndo, failedReport);
    await start('third');
  });
  beforeEach(() => {
    screen = new RecordingScreen();
  });
  afterAll(async () => {
    await one?.close();
    await client?.end();
    await Promise.all([database, bare].map((each) => each?.drop()));
  });

  it('lists runs newest first, by pages, by status, saga and key', async () => {
    expect(await saga('list')).toBe(0);
    expect(screen.printed).toMatch(/^RUN +SAGA +STATUS +STARTED +LASTED +KEY +FAILURE\n/);
    expect(screen.printed).toMatch(/order v1 +running .*third[^]*compensation_failed[^]*succeeded/);
    screen = new RecordingScreen();
    expect(await saga('list', '--limit', '2')).toBe(0);
    const cursor = /more: --cursor (\S+)/.exec(screen.printed)?.[1] ?? '';
    screen = new RecordingScreen();
    expect(await saga('list', '--limit', '2', '--cursor', cursor, '-o', 'json')).toBe(0);
    const rest = JSON.parse(screen.printed) as RunPageView;
    expect(rest).toMatchObject({ runs: [{ runId: succeeded, status: 'succeeded', businessKey: 'first' }] });
    expect(rest.nextCursor).toBeUndefined();
    screen = new RecordingScreen();
    expect(await saga('list', '--status', 'running', 'compensation_failed', '--business-key', 'second')).toBe(0);
    expect(screen.printed.trim().split('\n')).toHaveLength(2);
    expect(await saga('list', '--saga', 'nobodys', '-o', 'json')).toBe(0);
    expect(screen.printed).toContain('{"runs":[]}');
  });

  it('shows a run, its steps and undos, its payloads byte for byte, and everything that happened to it', async () => {
    expect(await saga('show', failedUndo, '--payloads', '--history')).toBe(0);
    expect(screen.printed).toMatch(/\nstatus +compensation_failed\n/);
    expect(screen.printed).toMatch(/\nreserve +undo +FAILED/);
    expect(screen.printed).toMatch(/\ninput +\{"b": 12345678901234567890, "2": 1\.10\}\n/);
    expect(screen.printed).toMatch(/\n1 +\S+ +run\.started[^]*run\.compensation_failed/);
    screen = new RecordingScreen();
    expect(await saga('show', failedUndo, '--payloads', '--history', '-o', 'json')).toBe(0);
    expect(screen.printed).toContain(`"input":${input}`);
    const view = JSON.parse(screen.printed) as RunDetailsView & { history: unknown[] };
    expect(view.run).toMatchObject({ runId: failedUndo, status: 'compensation_failed' });
    expect(view.tasks.map(({ nodeId, kind }) => `${nodeId} ${kind}`).sort()).toEqual([
      'charge forward',
      'reserve compensate',
      'reserve forward',
    ]);
    expect(view.history.length).toBeGreaterThan(5);
  });

  it('opens the undos that failed again, once for each request id', async () => {
    expect(await saga('retry-compensation', failedUndo, '--request-id', 'again')).toBe(0);
    expect(screen.printed).toBe(`run ${failedUndo}: compensating, epoch 2\n`);
    await settle(failedUndo, completedReport);
    screen = new RecordingScreen();
    expect(await saga('retry-compensation', failedUndo, '--request-id', 'again', '-o', 'json')).toBe(0);
    expect(JSON.parse(screen.printed)).toMatchObject({ status: 'compensated', duplicate: true });
    screen = new RecordingScreen();
    expect(await saga('retry-compensation', succeeded)).toBe(1);
    expect(screen.complained).toMatch(/^baton: [A-Z_]+: /);
  });

  it('lets the doctor look without a broker', async () => {
    expect(await saga('doctor')).toBe(0);
    expect(screen.printed).toMatch(/\ntopics +I8 +skipped +no brokers were given\n[^]*\nNothing found\.\n$/);
  });

  it('says clearly what is wrong: no such run, no schema, no database, no address', async () => {
    expect(await saga('show', '0190a000-0000-7000-8000-000000000001')).toBe(1);
    expect(screen.complained).toContain('RUN_NOT_FOUND');
    expect(await saga('show', 'order-1')).toBe(1);
    expect(await saga('list', '--namespace', 'Not a name')).toBe(2);
    expect(await saga('list', '--status', 'DONE')).toBe(2);
    expect(await runProgram(['saga', 'list', '--database-url', bare.url], screen)).toBe(1);
    expect(screen.complained).toContain('run "baton migrate up"');
    expect(await runProgram(['saga', 'list', '--database-url', 'postgres://127.0.0.1:9/x'], screen)).toBe(3);
    expect(await runProgram(['saga', 'list', '--database-url', 'mysql://x'], screen)).toBe(2);
  });
});
