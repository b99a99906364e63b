import type { DueItem, EngineApi } from '@baton/engine';
import { completedReport, engineOn, openTasks, publish } from './testing/engine-on-postgres.js';
import type { EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';
import { createTimerStore, type TimerStore } from './timer-store.js';

const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);
const node = (id: string, more: object = {}) => ({ id, type: 'task', queue: 'work', ...more });
const definitions = [
  { id: 'quiet', version: 1, nodes: [node('task'), { id: 'w', type: 'wait', signal: 'go' }] },
  { id: 'brief', version: 1, nodes: [node('task', { timeouts: { scheduleToStart: 'PT5S' } })] },
  { id: 'waiting', version: 1, nodes: [{ id: 'w', type: 'wait', signal: 'go', timeout: 'PT1M' }] },
  { id: 'month', version: 1, nodes: [{ id: 'w', type: 'wait', signal: 'go', timeout: 'P30D' }], deadline: 'P365D' },
  {
    id: 'wide',
    version: 1,
    nodes: [node('split'), ...ids(250).map((id) => node(id, { after: ['split'] })), node('join', { after: ids(250) })],
  },
  { id: 'long', version: 1, nodes: ids(5_000).map((id, n) => node(id, { after: n === 0 ? [] : [`n${n - 1}`] })) },
];

describe('masses on PostgreSQL', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let timers: TimerStore;
  let one: EngineApi;
  let two: EngineApi;

  beforeEach(async () => {
    fixture = await storeFixture(18);
    for (const definition of definitions) await publish(fixture, JSON.stringify(definition));
    engines = [engineOn(fixture.url), engineOn(fixture.url, { limits: { cachedStateBytes: 0 } })];
    one = engines[0]!.engine;
    two = engines[1]!.engine;
    timers = createTimerStore({ url: fixture.url });
  });

  afterEach(async () => {
    await timers.close();
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });

  const start = async (definitionId: string, count: number, more: object = {}): Promise<string[]> => {
    const command = { namespace: NAMESPACE, definitionId, input: null, ...more };
    return (await Promise.all(Array.from({ length: count }, () => one.start(command)))).map(({ runId }) => runId);
  };

  const count = async (what: string, values: unknown[] = []): Promise<number> =>
    (await fixture.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${what}`, values))[0]?.n ?? -1;

  it('B23: rows that are not due never hide the one that is, however many come before it', async () => {
    const quiet = await start('quiet', 30);
    const [brief] = await start('brief', 1);
    await fixture.moveClock('6 seconds');
    const { items } = await timers.readDue(10);
    expect(items.map(({ kind, runId }) => [kind, runId])).toEqual([['task', brief]]);
    expect(await one.fireDue(items)).toEqual([{ outcome: 'APPLIED' }]);
    expect(await count('baton.task_instances WHERE failures > 0 AND run_id = $1', [brief])).toBe(1);
    const untouched = await count('baton.workflow_runs WHERE version = 1 AND run_id = ANY ($1::uuid[])', [quiet]);
    expect(untouched).toBe(30);
  });

  it('B64: timers that are read again at each tick while nobody consumes them have their effect once', async () => {
    const runs = await start('waiting', 300);
    await fixture.moveClock('2 minutes');
    const ticks: DueItem[][] = [];
    for (let tick = 0; tick < 5; tick += 1) ticks.push([...(await timers.readDue(200)).items]);
    expect(ticks.map(({ length }) => length)).toEqual([200, 200, 200, 200, 200]);
    const storm = ticks.map((items, tick) => (tick % 2 ? one : two).fireDue(items));
    const [meanwhile] = await start('quiet', 1);
    const outcomes = (await Promise.all(storm)).flat().map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'APPLIED')).toHaveLength(200);
    expect(outcomes.filter((outcome) => outcome === 'FAILED')).toEqual([]);
    for (let rest = await timers.readDue(200); rest.items.length > 0; rest = await timers.readDue(200)) {
      await two.fireDue(rest.items);
    }
    expect(await count(`baton.workflow_runs WHERE status = 'FAILED'`)).toBe(300);
    expect(await count(`baton.run_journal WHERE kind = 'run.failed' AND run_id = ANY ($1::uuid[])`, [runs])).toBe(300);
    expect(await count(`baton.outbox WHERE type = 'run.failed'`)).toBe(300);
    expect(await count('baton.timers')).toBe(0);
    expect((await one.getRun(NAMESPACE, meanwhile!, false)).run.status).toBe('RUNNING');
  });

  it('B65: a timer service that dies with due rows in its hands takes none of them with it', async () => {
    const runs = await start('waiting', 5);
    await fixture.moveClock('1 day'); // as after a backup: all are long overdue
    const dead = createTimerStore({ url: fixture.url });
    expect((await dead.readDue(200)).items).toHaveLength(5);
    await dead.close();
    const { items, lateMs } = await timers.readDue(200);
    expect(items.map(({ runId }) => runId).sort()).toEqual([...runs].sort());
    expect(Math.min(...lateMs)).toBeGreaterThan(3_600_000);
    expect((await one.fireDue(items)).map(({ outcome }) => outcome)).toEqual(Array(5).fill('APPLIED'));
    expect((await timers.readDue(200)).items).toEqual([]);
  });

  it('B29, B56: a wait of 30 days and a deadline of a year are due then, and not at once', async () => {
    const [runId] = await start('month', 1);
    const rows = await fixture.query(
      `SELECT t.kind, extract(epoch FROM t.due_at - r.started_at)::float8 AS seconds
       FROM baton.timers t JOIN baton.workflow_runs r USING (run_id) ORDER BY t.due_at`,
    );
    expect(rows).toEqual([
      { kind: 'wait-timeout', seconds: 2_592_000 },
      { kind: 'run-deadline', seconds: 31_536_000 },
    ]);
    expect((await timers.readDue(10)).items).toEqual([]);
    await fixture.moveClock('29 days 23 hours 59 minutes');
    expect((await timers.readDue(10)).items).toEqual([]);
    await fixture.moveClock('30 days');
    expect((await timers.readDue(10)).items).toMatchObject([{ kind: 'timer', runId }]);
  });

  it('B08: 250 results of one fan-out, all at once at two engines: the join is dispatched once, after the last', async () => {
    const [runId] = await start('wide', 1);
    await one.report(completedReport(runId!, (await openTasks(fixture)).get(runId!)![0]!));
    const open = (await openTasks(fixture)).get(runId!) ?? [];
    expect(open).toHaveLength(250);
    const [last, ...others] = open;
    const outcomes = await Promise.all(
      others.map((task, n) => (n % 2 ? one : two).report(completedReport(runId!, task, `{"n":${n}}`))),
    );
    expect(new Set(outcomes)).toEqual(new Set(['APPLIED']));
    expect(await count(`baton.task_instances WHERE node_id = 'join'`)).toBe(0);
    expect(await two.report(completedReport(runId!, last!))).toBe('APPLIED');
    expect(await count(`baton.task_instances WHERE node_id = 'join'`)).toBe(1);
    expect(await count(`baton.outbox WHERE type = 'task.dispatched'`)).toBe(252);
  });

  it('B14: a chain of 5,000 nodes starts at its end, settles, and is written as one run', async () => {
    const [runId] = await start('long', 1, { startNodeId: 'n4999' });
    const [task] = (await openTasks(fixture)).get(runId!) ?? [];
    expect(await two.report(completedReport(runId!, task!))).toBe('APPLIED');
    const { run, tasks } = await one.getRun(NAMESPACE, runId!, false);
    expect(run.status).toBe('SUCCEEDED');
    expect(tasks).toHaveLength(5_000);
    expect(tasks.filter(({ status }) => status === 'SKIPPED')).toHaveLength(4_999);
  });

  it('B27: attempt numbers go on beyond 32,767', async () => {
    const [runId] = await start('brief', 1);
    await fixture.query('UPDATE baton.task_instances SET attempt = 40000, failures = 40000 WHERE run_id = $1', [runId]);
    const [task] = (await openTasks(fixture)).get(runId!) ?? [];
    const call = { namespace: NAMESPACE, runId: runId!, ...task!, owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    expect(await two.acquire(call)).toMatchObject({ status: 'GRANTED', attempt: 40_000 });
    expect(await two.report(completedReport(runId!, task!))).toBe('APPLIED');
    expect((await two.getRun(NAMESPACE, runId!, false)).tasks[0]).toMatchObject({ attempt: 40_000, failures: 40_000 });
  });
});
