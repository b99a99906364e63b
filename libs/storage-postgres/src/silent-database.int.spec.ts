import type { EngineError } from '@baton/engine';
import { chain } from '@baton/engine/testing';
import { eventually, startFaultProxy, type FaultProxy } from '@baton/testkit';
import { completedReport, engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

/** Short, so that the test is; the client waits longer than the server allows itself, as by default. */
const TIMEOUTS = { connectMs: 300, lockMs: 200, statementMs: 300, answerMs: 500 };
const LIMITS = { transientPauseMs: 5, unknownCommitMs: 600 };
/** The wait for one answer, for the outcome of a commit, and for the connections that both take. */
const BOUND_MS = 5_000;

describe('R5, R6: an engine whose database has gone silent', () => {
  let fixture: StoreFixture;
  let proxy: FaultProxy;
  let under: EngineOnPostgres;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    await publish(fixture, chain);
    const { hostname, port } = new URL(fixture.url);
    proxy = await startFaultProxy({ target: { host: hostname, port: Number(port) } });
    under = engineOn(proxy.url(fixture.url), { limits: LIMITS }, undefined, { timeouts: TIMEOUTS });
  });

  afterEach(() => {
    proxy.thaw();
    proxy.delay(0);
  });

  afterAll(async () => {
    await under.close();
    await proxy.close();
    await fixture.close();
  });

  const start = (idempotencyKey: string) =>
    under.engine.start({ namespace: NAMESPACE, definitionId: 'chain', input: '1', idempotencyKey });

  const kindOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      (answer) => answer,
      (error: EngineError) => error.kind,
    );

  it('R6: tells its callers UNAVAILABLE in time, and has lost and doubled nothing when it is back', async () => {
    const keys = Array.from({ length: 8 }, (_x, n) => `silent ${n}`);
    const runs = (await Promise.all(keys.map(start))).map(({ runId }) => runId);
    const open = await openTasks(fixture);
    const reports = runs.map((runId) => completedReport(runId, open.get(runId)![0]!));
    const [first] = reports;
    proxy.freeze();
    const from = performance.now();
    const answers = await Promise.all([
      ...reports.map((report) => kindOf(under.engine.report(report))),
      kindOf(start('new')),
      kindOf(under.engine.getRun(NAMESPACE, runs[0]!, false)),
      kindOf(under.engine.acquire({ ...first!, owner: 'w', callId: 'c', ttlMs: 0, wantInput: false })),
    ]);
    expect(performance.now() - from).toBeLessThan(BOUND_MS);
    expect(answers.slice(0, -2)).toEqual([...reports, 'new'].map(() => 'unavailable'));
    expect(answers.at(-1)).toEqual({ status: 'RETRY' });
    proxy.thaw();
    // Each caller asks again, as callers do: also while what was sent before the silence still arrives.
    const again = await Promise.all(
      reports.map((report) =>
        eventually(() => under.engine.report(report).catch(() => undefined), { what: 'a report to be taken' }),
      ),
    );
    expect(new Set(['APPLIED', 'DUPLICATE', ...again]).size).toBe(2);
    const { runId } = await eventually(() => start('new').catch(() => undefined), { what: 'the start' });
    await eventually(
      async () => {
        const late = await fixture.query(
          `SELECT 1 FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'baton' AND state <> 'idle'`,
        );
        return late.length === 0;
      },
      { what: 'the late statements to be over' },
    );
    expect(
      await fixture.query(
        `SELECT r.run_id = $1 AS is_new, r.version::int,
           (SELECT count(*)::int FROM baton.outbox o WHERE o.run_id = r.run_id AND o.type = 'task.dispatched') AS dispatched,
           (SELECT (max(seq) - count(*))::int FROM baton.run_journal j WHERE j.run_id = r.run_id) AS gaps
         FROM baton.workflow_runs r ORDER BY r.run_id`,
        [runId],
      ),
    ).toEqual([
      ...runs.map(() => ({ is_new: false, version: 2, dispatched: 2, gaps: 0 })),
      { is_new: true, version: 1, dispatched: 1, gaps: 0 },
    ]);
  });

  it('R6: knows the outcome of a commit that fell silent, once the others are heard again', async () => {
    const { runId } = await start('half-way');
    const [task] = (await openTasks(fixture)).get(runId)!;
    const report = completedReport(runId, task!);
    // Silent in the middle of the call, and only for as long as one connection takes to be given up.
    proxy.freeze();
    const answer = under.engine.report(report);
    await eventually(() => proxy.connections > 2, { what: 'another connection to be tried' });
    proxy.thaw();
    expect(['APPLIED', 'DUPLICATE']).toContain(await answer);
    const dispatched = await fixture.query(
      `SELECT 1 FROM baton.outbox WHERE run_id = $1 AND type = 'task.dispatched'`,
      [runId],
    );
    expect(dispatched).toHaveLength(2);
  });

  it('works on a slow line as on a fast one', async () => {
    proxy.delay(40);
    const { runId } = await start('slow');
    const [task] = (await openTasks(fixture)).get(runId)!;
    expect(await under.engine.report(completedReport(runId, task!))).toBe('APPLIED');
  });
});
