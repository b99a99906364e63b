import type { EngineApi, EngineError, TaskReport } from '@baton/engine';
import { chain } from '@baton/engine/testing';
import { eventually } from '@baton/testkit';
import { completedReport, engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

/** As a worker does it: what was not acknowledged is sent again. */
async function untilAcknowledged<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if ((error as EngineError).kind !== 'unavailable') throw error;
    }
  }
}

describe('engines whose connections are cut', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let cuts = 0;
  let isOver = false;
  let cutting: Promise<void>;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    await publish(fixture, chain);
    const limits = { transientPauseMs: 5 };
    engines = [engineOn(fixture.url, { limits }), engineOn(fixture.url, { limits, lanes: 2 })];
    cutting = cutConnections();
  });

  afterAll(async () => {
    isOver = true;
    await cutting;
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });

  /** Ends one backend of an engine that is at work: before, during or after its COMMIT. Then lets something happen. */
  async function cutConnections(): Promise<void> {
    let before = await progress();
    while (!isOver) {
      const rows = await fixture.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'baton' AND state <> 'idle' LIMIT 1`,
      );
      cuts += rows.length;
      if (rows.length === 0) continue;
      await eventually(async () => isOver || (await progress()) > before, { what: 'a commit after the cut' });
      before = await progress();
    }
  }

  async function progress(): Promise<number> {
    const [row] = await fixture.query<{ n: string }>('SELECT count(*) AS n FROM baton.run_journal');
    return Number(row?.n ?? 0);
  }

  const pick = (n: number): EngineApi => engines[n % engines.length]!.engine;

  it('apply every event once, and lose none (I2, R5, R6)', async () => {
    const count = 40;
    const started = await Promise.all(
      Array.from({ length: count }, (_x, n) =>
        untilAcknowledged(() =>
          pick(n).start({ namespace: NAMESPACE, definitionId: 'chain', input: '1', idempotencyKey: `k${n}` }),
        ),
      ),
    );
    const runs = [...new Set(started.map(({ runId }) => runId))];
    expect(runs).toHaveLength(count);
    for (let step = 0; step < 3; step += 1) {
      const open = await openTasks(fixture);
      const reports: TaskReport[] = runs.flatMap((runId) =>
        open.get(runId)!.map((task) => completedReport(runId, task)),
      );
      const outcomes = await Promise.all(
        reports.flatMap((report, n) => [0, 1].map((k) => untilAcknowledged(() => pick(n + k).report(report)))),
      );
      expect(new Set(outcomes)).toEqual(new Set(['APPLIED', 'DUPLICATE']));
      expect(outcomes.filter((outcome) => outcome === 'APPLIED').length).toBeLessThanOrEqual(count);
    }
    const rows = await fixture.query(
      `SELECT r.status,
         (SELECT count(*)::int FROM baton.outbox o WHERE o.run_id = r.run_id AND o.type = 'task.dispatched') AS dispatched,
         (SELECT (max(run_seq) - count(*))::int FROM baton.outbox o WHERE o.run_id = r.run_id) AS outbox_gaps,
         (SELECT (max(seq) - count(*))::int FROM baton.run_journal j WHERE j.run_id = r.run_id) AS journal_gaps
       FROM baton.workflow_runs r`,
    );
    expect(rows).toEqual(runs.map(() => ({ status: 'SUCCEEDED', dispatched: 3, outbox_gaps: 0, journal_gaps: 0 })));
    // The cuts have to have met work, or nothing was proven.
    expect(cuts).toBeGreaterThan(2);
  });

  it('cancel each run once, whatever its callers hear on the way (R24)', async () => {
    const { runId } = await untilAcknowledged(() =>
      pick(0).start({ namespace: NAMESPACE, definitionId: 'chain', input: null, idempotencyKey: 'to-cancel' }),
    );
    const cancel = { namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' };
    const results = await Promise.all([0, 1, 2, 3].map((n) => untilAcknowledged(() => pick(n).cancel(cancel))));
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'CANCELLED'));
    const [count] = await fixture.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM baton.outbox WHERE run_id = $1 AND type = 'run.cancelled'`,
      [runId],
    );
    expect(count?.n).toBe(1);
  });
});
