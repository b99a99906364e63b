import type { EngineApi } from '@baton/engine';
import { chain, diamond } from '@baton/engine/testing';
import { completedReport, engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId } from './testing/writes.js';

const DAY_MS = 86_400_000;

/** B63: the clocks of the processes are two days apart, and the database's is the only one that counts. */
describe('engines whose clocks are wrong', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let ahead: EngineApi;
  let behind: EngineApi;

  beforeAll(async () => {
    fixture = await storeFixture();
    for (const text of [chain, diamond]) await publish(fixture, text);
    const real = Date.now();
    // Ids carry an instant, which only chooses their partition: they come from the edge with the right one.
    const at = (shift: number) => engineOn(fixture.url, { now: () => real + shift, newId: () => newRunId(real) });
    engines = [at(DAY_MS), at(-DAY_MS)];
    [ahead, behind] = [engines[0]!.engine, engines[1]!.engine];
    jest.useFakeTimers({
      now: real + DAY_MS,
      doNotFake: [
        'hrtime',
        'nextTick',
        'performance',
        'queueMicrotask',
        'setImmediate',
        'clearImmediate',
        'setInterval',
        'clearInterval',
        'setTimeout',
        'clearTimeout',
      ],
    });
  });
  afterAll(async () => {
    jest.useRealTimers();
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });
  afterEach(() => fixture.moveClock('0 seconds'));

  it('R27, B63: leases and attempts end by the clock of the database alone', async () => {
    const { runId } = await ahead.start({ namespace: NAMESPACE, definitionId: 'chain', input: '1' });
    const task = (await openTasks(fixture)).get(runId)![0]!;
    const run = { namespace: NAMESPACE, runId };
    const lease = { owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    const { status, leaseId } = await behind.acquire({ ...run, ...task, ...lease });
    expect(status).toBe('GRANTED');
    const wake = { kind: 'task', ...run, taskId: task.taskId, attempt: 1 } as const;
    for (const engine of [ahead, behind]) {
      expect(await engine.fireDue([wake])).toMatchObject([{ outcome: 'IGNORED' }]);
      const beat = { ...run, taskId: task.taskId, attempt: 1, leaseId: leaseId!, ttlMs: 0 };
      expect((await engine.heartbeat(beat)).status).toBe('OK');
    }
    await fixture.moveClock('31 seconds');
    expect(await behind.fireDue([wake])).toMatchObject([{ outcome: 'APPLIED' }]);
    expect(await ahead.report({ ...completedReport(runId, task), leaseId: leaseId! })).toBe('STALE');
  });

  it('R27, B63: timers fire when the database says so, whatever the process believes', async () => {
    const { runId } = await behind.start({ namespace: NAMESPACE, definitionId: 'diamond', input: '1' });
    await ahead.report(completedReport(runId, (await openTasks(fixture)).get(runId)![0]!));
    const [timer] = await fixture.query<{ timer_id: string }>('SELECT timer_id FROM baton.timers WHERE run_id = $1', [
      runId,
    ]);
    const due = { kind: 'timer', namespace: NAMESPACE, runId, timerId: timer!.timer_id } as const;
    await fixture.moveClock('59 minutes');
    for (const engine of [ahead, behind]) {
      expect(await engine.fireDue([due])).toEqual([{ outcome: 'IGNORED', reason: 'the timer is not due yet' }]);
    }
    await fixture.moveClock('61 minutes');
    expect(await behind.fireDue([due])).toEqual([{ outcome: 'APPLIED' }]);
  });

  it('R27: every instant that is stored is the one of the database', async () => {
    await fixture.moveClock('5 hours');
    const { runId } = await ahead.start({ namespace: NAMESPACE, definitionId: 'diamond', input: '1' });
    const signal = { namespace: NAMESPACE, runId, name: 'go', payload: '1', signalId: 's', expiresInMs: 1 };
    await behind.signal(signal);
    await ahead.report(completedReport(runId, (await openTasks(fixture)).get(runId)![0]!));
    // Its compensator keeps the lease of a step that is cut off.
    const left = (await openTasks(fixture)).get(runId)!.find(({ nodeId }) => nodeId === 'left')!;
    const lease = { owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    expect((await behind.acquire({ namespace: NAMESPACE, runId, ...left, ...lease })).status).toBe('GRANTED');
    await behind.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
    const columns = await fixture.query<{ tab: string; col: string }>(
      `SELECT table_name AS tab, column_name AS col FROM information_schema.columns c
       WHERE table_schema = 'baton' AND data_type LIKE 'timestamp%'
         AND EXISTS (SELECT FROM information_schema.columns r
           WHERE r.table_schema = 'baton' AND r.table_name = c.table_name AND r.column_name = 'run_id')
         AND table_name IN ('workflow_runs', 'task_instances', 'run_journal', 'signals', 'timers', 'run_keys', 'outbox')`,
    );
    const seen: string[] = [];
    for (const { tab, col } of columns) {
      const [row] = await fixture.query<{ wrong: number; set: number }>(
        `SELECT count(*) FILTER (WHERE ${col} NOT BETWEEN baton.now() - interval '1 minute'
             AND baton.now() + interval '61 minutes')::int AS wrong, count(${col})::int AS set
         FROM baton.${tab} WHERE run_id = $1`,
        [runId],
      );
      if (row!.set > 0) seen.push(`${tab}.${col}`);
      expect([tab, col, row!.wrong]).toEqual([tab, col, 0]);
    }
    expect(seen).toEqual(
      expect.arrayContaining([
        'workflow_runs.started_at',
        'task_instances.created_at',
        'task_instances.dispatched_at',
        'task_instances.settled_at',
        'task_instances.wake_at',
        'task_instances.leased_at',
        'task_instances.lease_expires_at',
        'task_instances.cut_off_until',
        'run_journal.at',
        'signals.received_at',
        'signals.expires_at',
        'run_keys.created_at',
        'outbox.created_at',
      ]),
    );
  });
});
