import type { AcquireLease, EngineApi, Store, TaskReport } from '@baton/engine';
import type { Client } from 'pg';
import {
  completedReport,
  engineOn,
  openTasks,
  publish,
  type EngineOnPostgres,
  type OpenTask,
} from './testing/engine-on-postgres.js';
import { waitingFor } from './testing/locks.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

const step = {
  id: 'step',
  version: 1,
  nodes: [
    {
      ...{ id: 'only', type: 'task', queue: 'work' },
      retry: { maxAttempts: 2, initialInterval: 'PT1S', jitter: 0 },
      timeouts: { heartbeat: 'PT20S', startToClose: 'PT10M', scheduleToClose: 'P2D' },
    },
  ],
};
const pair = {
  id: 'pair',
  version: 1,
  nodes: [
    { id: 'plain', type: 'task', queue: 'work' },
    { id: 'mail', type: 'task', queue: 'work', compensate: { task: 'undo.mail' } },
  ],
};

/** Stops a decision after it has read lease facts under their locks, before it writes. */
class Gate {
  open: () => void = () => undefined;
  private arrive: () => void = () => undefined;
  readonly reached = new Promise<void>((resolve) => (this.arrive = resolve));
  private readonly opened = new Promise<void>((resolve) => (this.open = resolve));

  afterLeases(store: Store): Store {
    return {
      ...store,
      withLockedRuns: (refs, work, options) =>
        store.withLockedRuns(
          refs,
          (session) =>
            work({
              ...session,
              readNeeds: async (requests) => {
                const facts = await session.readNeeds(requests);
                this.arrive();
                await this.opened;
                return facts;
              },
            }),
          options,
        ),
    };
  }
}

describe('attempts on PostgreSQL', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let one: EngineApi;
  let two: EngineApi;
  let calls = 0;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    for (const definition of [step, pair]) await publish(fixture, JSON.stringify(definition));
    engines = [engineOn(fixture.url), engineOn(fixture.url, { limits: { cachedStateBytes: 0 } })];
    one = engines[0]!.engine;
    two = engines[1]!.engine;
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });
  afterEach(() => fixture.moveClock('0 seconds'));

  const start = async (definitionId: string): Promise<string> =>
    (await one.start({ namespace: NAMESPACE, definitionId, input: '{"n":1}' })).runId;
  const openOf = async (runId: string, nodeId: string): Promise<OpenTask> => {
    const task = (await openTasks(fixture)).get(runId)?.find((open) => open.nodeId === nodeId);
    if (task === undefined) throw new Error(`${nodeId} is not open`);
    return task;
  };
  const acquire = (runId: string, task: OpenTask, over: Partial<AcquireLease> = {}) => {
    calls += 1;
    const call = { owner: 'w', callId: `call ${calls}`, ttlMs: 0, wantInput: false, ...over };
    return one.acquire({ namespace: NAMESPACE, runId, ...task, ...call });
  };
  const wake = async (engine: EngineApi, runId: string, task: OpenTask) =>
    (await engine.fireDue([{ kind: 'task', namespace: NAMESPACE, runId, ...task }]))[0]!.outcome;
  const report = (runId: string, task: OpenTask, over: Partial<TaskReport>): TaskReport => ({
    ...{ namespace: NAMESPACE, runId, ...task, status: 'completed' as const },
    ...over,
  });
  const rowOf = async (taskId: string) => {
    const [row] = await fixture.query<Record<string, unknown>>(
      `SELECT status, attempt, failures, losses, redispatches, unknown_outcome, lease_id, lease_expires_at, wake_at,
         dispatched_at, created_at, schedule_to_close_at, start_to_close_at, leased_at,
         extract(epoch FROM wake_at - dispatched_at)::float AS guard,
         extract(epoch FROM start_to_close_at - leased_at)::float AS to_close,
         extract(epoch FROM schedule_to_close_at - created_at)::float AS in_all
       FROM baton.task_instances WHERE task_id = $1`,
      [taskId],
    );
    return row!;
  };
  /** R12: the least of what can wake each open row, straight from its columns; `early`: a heartbeat moved the lease. */
  const wakeUps = async (runId: string): Promise<readonly { status: string; armed: string }[]> =>
    fixture.query(
      `SELECT status, CASE WHEN wake_at IS NULL THEN 'none' WHEN wake_at = due THEN 'exact'
           WHEN wake_at < due THEN 'early' ELSE 'late' END AS armed
       FROM (SELECT status::text, wake_at, CASE
           WHEN status = 'BACKOFF' THEN least(backoff_until, schedule_to_close_at)
           WHEN cut_off THEN least(lease_expires_at, cut_off_until)
           WHEN lease_id IS NOT NULL THEN least(lease_expires_at, start_to_close_at, schedule_to_close_at)
           ELSE least(schedule_to_start_at, redispatch_at, schedule_to_close_at) END AS due
         FROM baton.task_instances WHERE run_id = $1) t
       ORDER BY status`,
      [runId],
    );
  const undosOf = (runId: string): Promise<readonly object[]> =>
    fixture.query(
      `SELECT node_id, status, generation FROM baton.task_instances WHERE run_id = $1 AND kind = 'compensate'`,
      [runId],
    );
  /** Another session that holds this row until it is told to let go. */
  const hold = async (taskId: string): Promise<Client> => {
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.task_instances WHERE task_id = $1 FOR NO KEY UPDATE', [taskId]);
    return holder;
  };
  const untilWaiting = (sessions: number): Promise<void> => waitingFor(fixture, 'lock', sessions);

  it('R11, R12: number each dispatch once, count failures and losses apart, and always have a wake-up', async () => {
    const runId = await start('step');
    let task = await openOf(runId, 'only');
    const { taskId } = task;
    const armed = async (status: string): Promise<void> =>
      expect(await wakeUps(runId)).toEqual([{ status, armed: 'exact' }]);
    const next = async (): Promise<OpenTask> => (task = await openOf(runId, 'only'));
    await armed('SCHEDULED');
    await acquire(runId, task);
    await armed('SCHEDULED');
    expect(await one.report(report(runId, task, { status: 'released', notStarted: true }))).toBe('APPLIED');
    await acquire(runId, await next());
    expect(await two.report(report(runId, task, { status: 'deferred', retryAfterMs: 5_000 }))).toBe('APPLIED');
    await armed('BACKOFF');
    await fixture.moveClock('6 seconds');
    expect(await wake(one, runId, task)).toBe('APPLIED');
    await armed('SCHEDULED');
    await acquire(runId, await next());
    await fixture.moveClock('30 seconds');
    expect(await wake(two, runId, task)).toBe('APPLIED'); // its lease was lost
    expect(await rowOf(taskId)).toMatchObject({ attempt: 4, failures: 0, losses: 1, unknown_outcome: true });
    await fixture.moveClock('400 seconds');
    expect(await wake(one, runId, await next())).toBe('APPLIED'); // nobody took it
    await armed('SCHEDULED');
    expect(await one.report(report(runId, await next(), { status: 'failed' }))).toBe('APPLIED');
    await armed('BACKOFF');
    await fixture.moveClock('410 seconds');
    expect(await wake(one, runId, task)).toBe('APPLIED');
    expect(await rowOf(taskId)).toMatchObject({ attempt: 6, failures: 1, losses: 1, redispatches: 0 });
    expect(await one.report(report(runId, await next(), { status: 'failed' }))).toBe('APPLIED');
    expect(await wakeUps(runId)).toEqual([{ status: 'FAILED', armed: 'none' }]);
    await one.retry({ namespace: NAMESPACE, runId, requestId: 'again' });
    expect(await rowOf((await next()).taskId)).toMatchObject({ attempt: 7, failures: 0, losses: 0 });
    const sent = await fixture.query<{ attempt: number }>(
      `SELECT (payload::json ->> 'attempt')::int AS attempt FROM baton.outbox
       WHERE run_id = $1 AND type = 'task.dispatched' ORDER BY run_seq`,
      [runId],
    );
    expect(sent.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('R12: send a task that nobody takes again after 5 minutes, then 10, then 20, each time with a new fence', async () => {
    const runId = await start('step');
    const { taskId } = await openOf(runId, 'only');
    let passed = 0;
    for (const [index, minutes] of [5, 10, 20].entries()) {
      const task = await openOf(runId, 'only');
      expect(await rowOf(taskId)).toMatchObject({ attempt: index + 1, guard: minutes * 60 });
      await fixture.moveClock(`${passed + minutes * 60 - 1} seconds`);
      expect(await wake(one, runId, task)).toBe('IGNORED');
      passed += minutes * 60 + 1;
      await fixture.moveClock(`${passed} seconds`);
      expect(await wake(two, runId, task)).toBe('APPLIED');
      expect(await rowOf(taskId)).toMatchObject({ attempt: index + 2, failures: 0, losses: 0, unknown_outcome: false });
      expect(await acquire(runId, task)).toEqual({ status: 'STALE' });
    }
    expect(await acquire(runId, await openOf(runId, 'only'))).toMatchObject({ status: 'GRANTED', attempt: 4 });
  });

  it('R12: find the old wake-up after heartbeats and arm it again, exactly', async () => {
    const runId = await start('step');
    const task = await openOf(runId, 'only');
    const { leaseId = '' } = await acquire(runId, task);
    await fixture.moveClock('15 seconds');
    const beat = { namespace: NAMESPACE, runId, ...task, leaseId, ttlMs: 0 };
    expect(await one.heartbeat(beat)).toMatchObject({ status: 'OK' });
    expect(await wakeUps(runId)).toEqual([{ status: 'SCHEDULED', armed: 'early' }]);
    await fixture.moveClock('21 seconds');
    expect(await wake(two, runId, task)).toBe('IGNORED');
    expect(await wakeUps(runId)).toEqual([{ status: 'SCHEDULED', armed: 'exact' }]);
  });

  it('R13: dispatch the next attempt in the commit that takes one back, and end its lease', async () => {
    const runId = await start('step');
    const task = await openOf(runId, 'only');
    const { leaseId = '' } = await acquire(runId, task);
    expect(await one.report(report(runId, task, { status: 'released', leaseId }))).toBe('APPLIED');
    const row = await rowOf(task.taskId);
    expect(row).toMatchObject({ status: 'SCHEDULED', attempt: 2, failures: 0, losses: 0, lease_id: null });
    expect(row).toMatchObject({ unknown_outcome: true });
    expect((await one.heartbeat({ namespace: NAMESPACE, runId, ...task, leaseId, ttlMs: 0 })).status).toBe('LOST');
    const commits = await fixture.query(
      `SELECT DISTINCT xmin::text FROM (
         SELECT xmin FROM baton.task_instances WHERE task_id = $1
         UNION ALL SELECT xmin FROM baton.outbox WHERE run_id = $2 AND payload::json ->> 'attempt' = '2'
         UNION ALL SELECT xmin FROM baton.run_journal WHERE run_id = $2 AND kind = 'task.released') t`,
      [task.taskId, runId],
    );
    expect(commits).toHaveLength(1);
    expect(await acquire(runId, await openOf(runId, 'only'))).toMatchObject({ status: 'GRANTED', attempt: 2 });
  });

  it('R14: count startToClose from GRANTED, scheduleToClose from the first dispatch; heartbeats extend neither', async () => {
    const runId = await start('step');
    const task = await openOf(runId, 'only');
    const first = await rowOf(task.taskId);
    expect(first).toMatchObject({ in_all: 2 * 86_400, start_to_close_at: null });
    await fixture.moveClock('60 seconds');
    const { leaseId = '', ttlMs } = await acquire(runId, task);
    expect(ttlMs).toBe(20_000);
    const granted = await rowOf(task.taskId);
    expect(granted).toMatchObject({ to_close: 600, schedule_to_close_at: first['schedule_to_close_at'] });
    await fixture.moveClock('75 seconds');
    await one.heartbeat({ namespace: NAMESPACE, runId, ...task, leaseId, ttlMs: 0 });
    const beaten = await rowOf(task.taskId);
    expect(Number(beaten['lease_expires_at'])).toBeGreaterThan(Number(granted['lease_expires_at']));
    for (const column of ['start_to_close_at', 'schedule_to_close_at']) expect(beaten[column]).toEqual(granted[column]);
    await fixture.moveClock('100 seconds');
    expect(await wake(two, runId, task)).toBe('APPLIED'); // the next attempt
    const again = await rowOf(task.taskId);
    expect(again).toMatchObject({ attempt: 2, start_to_close_at: null });
    expect(again['schedule_to_close_at']).toEqual(first['schedule_to_close_at']);
    expect(Number(again['dispatched_at'])).toBeGreaterThan(Number(first['dispatched_at']));
  });

  it.each([
    [0, 20_000],
    [5_000, 5_000],
    [900_000, 20_000],
  ])('R14: of a lease of %i ms that was asked for, give %i ms, at acquire and at heartbeat', async (ttlMs, given) => {
    const runId = await start('step');
    const task = await openOf(runId, 'only');
    const lease = await acquire(runId, task, { ttlMs });
    expect(lease).toMatchObject({ status: 'GRANTED', ttlMs: given });
    const beat = { namespace: NAMESPACE, runId, ...task, leaseId: lease.leaseId ?? '', ttlMs };
    expect(await one.heartbeat(beat)).toEqual({ status: 'OK', ttlMs: given });
  });

  it('R14: take no report of an attempt whose expiry is being decided', async () => {
    const runId = await start('step');
    const task = await openOf(runId, 'only');
    const { leaseId = '' } = await acquire(runId, task);
    await fixture.moveClock('21 seconds');
    const holder = await hold(task.taskId);
    const woken = wake(one, runId, task); // has the run, waits for the row
    await untilWaiting(1);
    const reported = two.report({ ...completedReport(runId, task), leaseId });
    await holder.query('ROLLBACK');
    expect(await Promise.all([woken, reported])).toEqual(['APPLIED', 'STALE']);
    expect(await rowOf(task.taskId)).toMatchObject({ status: 'SCHEDULED', attempt: 2, losses: 1 });
  });

  it('R14: take a report after the expiry, and decide no expiry of an attempt whose report is being written', async () => {
    const runId = await start('step');
    const task = await openOf(runId, 'only');
    const { leaseId = '' } = await acquire(runId, task);
    await fixture.moveClock('21 seconds');
    const beat = { namespace: NAMESPACE, runId, ...task, leaseId, ttlMs: 0 };
    expect(await one.heartbeat(beat)).toEqual({ status: 'LOST' });
    const holder = await hold(task.taskId);
    const reported = two.report({ ...completedReport(runId, task), leaseId }); // has the run, waits for the row
    await untilWaiting(1);
    const woken = wake(one, runId, task);
    await untilWaiting(2);
    await holder.query('ROLLBACK');
    expect(await Promise.all([woken, reported])).toEqual(['IGNORED', 'APPLIED']);
    expect(await rowOf(task.taskId)).toMatchObject({ status: 'SUCCEEDED', attempt: 1, losses: 0 });
  });

  it('R15: have one row for each (run, node, item, kind, generation)', async () => {
    const runId = await start('step');
    const { taskId } = await openOf(runId, 'only');
    const again = (change: string): Promise<unknown> =>
      fixture.query(
        `INSERT INTO baton.task_instances
           (run_id, task_id, namespace, node_id, item, kind, generation, status, route, created_at)
         SELECT run_id, gen_random_uuid(), namespace, node_id, item, kind, generation, 'SKIPPED', route, created_at
         FROM (SELECT run_id, namespace, route, created_at, ${change} FROM baton.task_instances WHERE task_id = $1) t`,
        [taskId],
      );
    await expect(again('node_id, item, kind, generation')).rejects.toMatchObject({ code: '23505' });
    await again('node_id, item, kind, generation + 1 AS generation');
    await again(`node_id, item, 'compensate'::baton.task_kind AS kind, generation`);
    await again('node_id, item + 1 AS item, kind, generation');
  });

  it('R17: lease nothing that a cancel has found unleased, neither while it is decided nor afterwards', async () => {
    const runId = await start('pair');
    const task = await openOf(runId, 'mail');
    const gate = new Gate();
    const slow = engineOn(fixture.url, {}, (store) => gate.afterLeases(store));
    try {
      const cancelled = slow.engine.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
      await gate.reached; // it has read that nobody holds the step, and has written nothing
      expect(await acquire(runId, task)).toEqual({ status: 'RETRY' });
      gate.open();
      expect((await cancelled).status).toBe('CANCELLED');
    } finally {
      await slow.close();
    }
    expect(await acquire(runId, task)).toEqual({ status: 'STALE' });
    expect(await rowOf(task.taskId)).toMatchObject({ status: 'CANCELLED', unknown_outcome: false });
    expect(await undosOf(runId)).toEqual([]);
  });

  it('R17: undo what was leased a moment before the cancel read it', async () => {
    const runId = await start('pair');
    const task = await openOf(runId, 'mail');
    const worker = await hold(task.taskId);
    const cancelled = two.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
    await untilWaiting(1); // it has the run, and waits for the row that the worker is being given
    await worker.query(
      `UPDATE baton.task_instances SET lease_id = gen_random_uuid(), lease_owner = 'w', leased_at = baton.now(),
         lease_expires_at = baton.now() + interval '20 s', wake_at = baton.now() + interval '20 s' WHERE task_id = $1`,
      [task.taskId],
    );
    await worker.query('COMMIT');
    expect((await cancelled).status).toBe('COMPENSATING');
    expect(await undosOf(runId)).toEqual([{ node_id: 'mail', status: 'PLANNED', generation: 1 }]);
    expect(await one.report(completedReport(runId, task))).toBe('APPLIED_CANCELLED');
    expect(await undosOf(runId)).toEqual([{ node_id: 'mail', status: 'SCHEDULED', generation: 1 }]);
  });

  it('R18: let a cut-off step keep its lease for 30 seconds more and undo it then, without its late report', async () => {
    const runId = await start('pair');
    const task = await openOf(runId, 'mail');
    const { leaseId = '' } = await acquire(runId, task);
    const cancelled = await one.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
    expect(cancelled.status).toBe('COMPENSATING');
    const commits = await fixture.query(
      `SELECT DISTINCT xmin::text FROM baton.task_instances WHERE run_id = $1 AND node_id = 'mail'`,
      [runId],
    );
    expect(commits).toHaveLength(1); // the step and its planned undo
    expect(await wakeUps(runId)).toContainEqual({ status: 'SCHEDULED', armed: 'exact' });
    const beat = { namespace: NAMESPACE, runId, ...task, leaseId, ttlMs: 0 };
    for (const second of [10, 20, 29]) {
      await fixture.moveClock(`${second} seconds`);
      const answer = await two.heartbeat(beat);
      expect(answer.status).toBe('CANCELLED');
      expect(answer.ttlMs).toBeLessThanOrEqual((30 - second) * 1_000);
      expect(await wake(one, runId, task)).toBe('IGNORED');
    }
    await fixture.moveClock('31 seconds');
    expect(await two.heartbeat(beat)).toEqual({ status: 'LOST' });
    expect(await wake(one, runId, task)).toBe('APPLIED');
    expect(await two.report({ ...completedReport(runId, task), leaseId })).toBe('STALE');
    const undo = await openOf(runId, 'mail');
    expect(undo.taskId).not.toBe(task.taskId);
    expect(await one.report(completedReport(runId, undo))).toBe('APPLIED');
    const ended = await one.getRun(NAMESPACE, runId, false);
    expect(ended.run).toMatchObject({ status: 'CANCELLED', compensation: 'CLEAN' });
  });
});
