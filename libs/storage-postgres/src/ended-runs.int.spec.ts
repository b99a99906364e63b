import type { EngineApi, EngineError, TaskReport } from '@baton/engine';
import {
  completedReport,
  engineOn,
  failedReport,
  openTasks,
  publish,
  type EngineOnPostgres,
  type OpenTask,
} from './testing/engine-on-postgres.js';
import { rowsOf } from './testing/rows-of.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId } from './testing/writes.js';

const definition = {
  id: 'order',
  version: 1,
  deadline: 'PT1H',
  compensationTimeout: 'PT1H',
  nodes: [
    { id: 'a', type: 'task', queue: 'work', compensate: { task: 'undo.a', retry: { maxAttempts: 1 } } },
    { id: 'b', type: 'task', queue: 'work', after: ['a'], retry: { maxAttempts: 1 } },
    { id: 'w', type: 'wait', signal: 'go', timeout: 'PT30M' },
  ],
};

describe('runs that have ended, on PostgreSQL (R20)', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let one: EngineApi;
  let two: EngineApi;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    await publish(fixture, JSON.stringify(definition));
    engines = [engineOn(fixture.url), engineOn(fixture.url, { limits: { cachedStateBytes: 0 } })];
    one = engines[0]!.engine;
    two = engines[1]!.engine;
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });
  afterEach(() => fixture.moveClock('0 seconds'));

  interface Past {
    readonly runId: string;
    /** What workers were told of, and still may report on. */
    readonly tasks: readonly OpenTask[];
    readonly leaseId: string;
    /** Timers that the timer service may have read before they went. */
    readonly timers: readonly string[];
  }

  const openOf = async (runId: string): Promise<OpenTask> => {
    const [task] = (await openTasks(fixture)).get(runId) ?? [];
    if (task === undefined) throw new Error('nothing is open');
    return task;
  };

  /** A run whose first step is done by a worker, and whose second one is out. */
  async function underWay(): Promise<Past> {
    const { runId } = await one.start({ namespace: NAMESPACE, definitionId: 'order', input: null });
    const a = await openOf(runId);
    const call = { owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    const { leaseId = '' } = await one.acquire({ namespace: NAMESPACE, runId, ...a, ...call });
    await one.report({ ...completedReport(runId, a), leaseId });
    const timers = await fixture.query<{ timer_id: string }>('SELECT timer_id FROM baton.timers WHERE run_id = $1', [
      runId,
    ]);
    return { runId, tasks: [a, await openOf(runId)], leaseId, timers: timers.map((row) => row.timer_id) };
  }

  const report = async (runId: string, how: (runId: string, task: OpenTask) => TaskReport): Promise<OpenTask> => {
    const task = await openOf(runId);
    expect(await two.report(how(runId, task))).toBe('APPLIED');
    return task;
  };

  const endings: Readonly<Record<string, (past: Past) => Promise<Past>>> = {
    async SUCCEEDED(past) {
      await report(past.runId, completedReport);
      await one.signal({ namespace: NAMESPACE, runId: past.runId, name: 'go', payload: '1', signalId: 'known' });
      return past;
    },
    async COMPENSATED(past) {
      await report(past.runId, failedReport);
      return { ...past, tasks: [...past.tasks, await report(past.runId, completedReport)] };
    },
    async COMPENSATION_FAILED(past) {
      await report(past.runId, failedReport);
      return { ...past, tasks: [...past.tasks, await report(past.runId, failedReport)] };
    },
    async CANCELLED(past) {
      await one.cancel({ namespace: NAMESPACE, runId: past.runId, requestId: 'first', reason: 'asked' });
      return { ...past, tasks: [...past.tasks, await report(past.runId, completedReport)] };
    },
  };

  async function codeOf(call: Promise<unknown>): Promise<string> {
    return call.then(
      () => 'done',
      (error: EngineError) => error.code,
    );
  }

  /** All that may come late, by two engines: one that has the run in its cache, and one that reads it. */
  async function everythingLate(engine: EngineApi, { runId, tasks, leaseId, timers }: Past): Promise<void> {
    const ref = { namespace: NAMESPACE, runId };
    for (const task of tasks) {
      for (const late of ['{"other":1}', '{"ok":true}']) {
        expect(['DUPLICATE', 'CONFLICT', 'STALE']).toContain(await engine.report(completedReport(runId, task, late)));
      }
      for (const attempt of [0, task.attempt + 1]) {
        const released = { ...ref, ...task, attempt, status: 'released' as const };
        expect(['DUPLICATE', 'CONFLICT', 'STALE']).toContain(await engine.report(released));
      }
      const call = { owner: 'w', callId: 'late', ttlMs: 0, wantInput: true };
      expect(await engine.acquire({ ...ref, ...task, ...call })).toEqual({ status: 'STALE' });
      expect(await engine.heartbeat({ ...ref, ...task, leaseId, ttlMs: 0, progress: '{"late":1}' })).toEqual({
        status: 'LOST',
      });
      expect(await engine.fireDue([{ kind: 'task', ...ref, ...task }])).toMatchObject([{ outcome: 'IGNORED' }]);
    }
    for (const timerId of timers) {
      expect(await engine.fireDue([{ kind: 'timer', ...ref, timerId }])).toMatchObject([{ outcome: 'IGNORED' }]);
    }
    const signal = { ...ref, name: 'go', payload: '2', signalId: 'late' };
    expect(await codeOf(engine.signal(signal))).toBe('RUN_TERMINAL');
  }

  it.each(Object.keys(endings))('%s: no late event writes a row', async (status) => {
    const past = await endings[status]!(await underWay());
    const { runId } = past;
    expect((await two.getRun(NAMESPACE, runId, false)).run.status).toBe(status);
    const before = await rowsOf(fixture, [runId]);
    expect(before.filter((row) => row.startsWith('timers'))).toEqual([]);
    await fixture.moveClock('3 hours');
    for (const engine of [one, two]) await everythingLate(engine, past);
    expect(await rowsOf(fixture, [runId])).toEqual(before);
    if (status !== 'CANCELLED') {
      const cancel = { namespace: NAMESPACE, runId, requestId: 'late', reason: 'late' };
      expect(await codeOf(two.cancel(cancel))).toBe('RUN_TERMINAL');
      expect(await rowsOf(fixture, [runId])).toEqual(before);
    }
  });

  it('COMPENSATION_FAILED: a timer that was left behind is consumed, and changes nothing else', async () => {
    const { runId } = await endings['COMPENSATION_FAILED']!(await underWay());
    const before = await rowsOf(fixture, [runId]);
    const timerIds = [newRunId(), newRunId()];
    await fixture.query(
      `INSERT INTO baton.timers (timer_id, run_id, namespace, kind, generation, due_at)
       SELECT unnest($1::uuid[]), $2, $3, unnest(ARRAY['run-deadline', 'compensation-timeout'])::baton.timer_kind, 1,
         baton.now()`,
      [timerIds, runId, NAMESPACE],
    );
    const due = timerIds.map((timerId) => ({ kind: 'timer' as const, namespace: NAMESPACE, runId, timerId }));
    expect(await two.fireDue(due)).toMatchObject([{ outcome: 'IGNORED' }, { outcome: 'IGNORED' }]);
    const after = await rowsOf(fixture, [runId]);
    const notTheRun = (rows: readonly string[]) => rows.filter((row) => !row.startsWith('workflow_runs'));
    expect(notTheRun(after)).toEqual(notTheRun(before)); // its version rose with the deletions
    expect((await one.getRun(NAMESPACE, runId, false)).run).toMatchObject({ status: 'COMPENSATION_FAILED', epoch: 1 });
  });

  it('is opened again by RunRetried and retryCompensation alone, each time with an epoch', async () => {
    const { runId } = await endings['COMPENSATION_FAILED']!(await underWay());
    const command = (requestId: string) => ({ namespace: NAMESPACE, runId, requestId });
    expect(await codeOf(one.retry({ ...command('r1'), fromNodeId: 'a' }))).toBe('UNRESOLVED_UNDO');
    expect(await two.retryCompensation(command('x1'))).toMatchObject({ status: 'COMPENSATING', epoch: 2 });
    await report(runId, failedReport);
    expect(await one.retryCompensation(command('x2'))).toMatchObject({ status: 'COMPENSATING', epoch: 3 });
    await report(runId, completedReport);
    expect(await codeOf(one.retryCompensation(command('x3')))).toBe('NOTHING_TO_COMPENSATE');
    expect(await codeOf(two.retry({ ...command('r2'), fromNodeId: 'a' }))).toBe('NOT_RETRYABLE');
    const rows = await fixture.query(
      `SELECT generation, attempt, status::text FROM baton.task_instances WHERE run_id = $1 AND kind = 'compensate'`,
      [runId],
    );
    expect(rows).toEqual([{ generation: 1, attempt: 3, status: 'SUCCEEDED' }]);
  });

  it('keeps the idempotency key of an undo that is tried again, and gives a new execution another one (R15)', async () => {
    const { runId } = await endings['COMPENSATION_FAILED']!(await underWay());
    await one.retryCompensation({ namespace: NAMESPACE, runId, requestId: 'x1' });
    const keysOf = async (id: string) => {
      const sent = await fixture.query<{ key: string }>(
        `SELECT payload::json ->> 'idempotencyKey' AS key FROM baton.outbox
         WHERE run_id = $1 AND type = 'task.dispatched' ORDER BY run_seq`,
        [id],
      );
      return sent.map(({ key }) => key.replace(`${id}/`, ''));
    };
    expect(await keysOf(runId)).toEqual([
      'a/0/forward/1',
      'b/0/forward/1',
      'a/0/compensate/1',
      'a/0/compensate/1', // the same, so that it is not paid back twice
    ]);
    const cancelled = (await endings['CANCELLED']!(await underWay())).runId;
    await two.retry({ namespace: NAMESPACE, runId: cancelled, requestId: 'r1', fromNodeId: 'a' });
    expect((await keysOf(cancelled)).at(-1)).toBe('a/0/forward/2');
  });
});
