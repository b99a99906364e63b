import { chain } from '@baton/engine/testing';
import {
  completedReport,
  engineOn,
  failedReport,
  openTasks,
  publish,
  type EngineOnPostgres,
} from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

/** The route of a run is the one of the engine that started it, whoever goes on with it. */
describe('routes of tasks on PostgreSQL', () => {
  let fixture: StoreFixture;
  let kafka: EngineOnPostgres;
  let local: EngineOnPostgres;

  beforeAll(async () => {
    fixture = await storeFixture();
    await publish(fixture, chain);
    kafka = engineOn(fixture.url, { limits: { cachedStateBytes: 0 } });
    local = engineOn(fixture.url, { route: 'local', limits: { cachedStateBytes: 0 } });
  });
  afterAll(async () => {
    await kafka.close();
    await local.close();
    await fixture.close();
  });
  afterEach(() => fixture.moveClock('0 seconds'));

  /** Through every way in which a task is dispatched: first, downstream, again, of a new epoch, and as an undo. */
  async function playedRun(first: EngineOnPostgres, second: EngineOnPostgres): Promise<string> {
    const { runId } = await first.engine.start({ namespace: NAMESPACE, definitionId: 'chain', input: '1' });
    const task = async () => (await openTasks(fixture)).get(runId)![0]!;
    await second.engine.report(completedReport(runId, await task()));
    // The guard of a local task is a day: nothing of it can be lost on its way.
    await fixture.moveClock('25 hours');
    const { taskId, attempt } = await task();
    const wake = { kind: 'task', namespace: NAMESPACE, runId, taskId, attempt } as const;
    expect(await second.engine.fireDue([wake])).toEqual([{ outcome: 'APPLIED' }]);
    await second.engine.report(completedReport(runId, await task()));
    await second.engine.report(failedReport(runId, await task()));
    expect((await task()).nodeId).toBe('a');
    await second.engine.report(completedReport(runId, await task()));
    expect((await second.engine.getRun(NAMESPACE, runId, false)).run.status).toBe('COMPENSATED');
    return runId;
  }

  const messagesOf = async (runId: string) => {
    const rows = await fixture.query<{ type: string; run_seq: string }>(
      'SELECT type, run_seq FROM baton.outbox WHERE run_id = $1 ORDER BY run_seq',
      [runId],
    );
    // A gap would be a message that was lost.
    expect(rows.map((row) => Number(row.run_seq))).toEqual(rows.map((_row, index) => index + 1));
    return rows.map((row) => row.type);
  };

  const routesOf = async (runId: string) =>
    (
      await fixture.query<{ route: string }>(
        `SELECT route FROM baton.workflow_runs WHERE run_id = $1
         UNION SELECT route FROM baton.task_instances WHERE run_id = $1`,
        [runId],
      )
    ).map(({ route }) => route);

  it('R29: a local run sends no task message, whoever goes on with it, but all of its domain events', async () => {
    const runId = await playedRun(local, kafka);
    expect(await routesOf(runId)).toEqual(['local']);
    const types = await messagesOf(runId);
    expect(types).not.toContain('task.dispatched');
    expect(types).toEqual(expect.arrayContaining(['run.started', 'node.succeeded', 'run.compensated']));
  });

  it('R29: a run that was started for Kafka sends one message a dispatch, also through a local engine', async () => {
    const runId = await playedRun(kafka, local);
    expect(await routesOf(runId)).toEqual(['kafka']);
    const types = await messagesOf(runId);
    expect(types.filter((type) => type === 'task.dispatched')).toHaveLength(5);
  });
});
