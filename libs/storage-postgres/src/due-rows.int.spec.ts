import { decide } from '@baton/core';
import type { DueItem, EngineOptions, RunStartedResult, Store } from '@baton/engine';
import { diamond, single } from '@baton/engine/testing';
import { bind, statement } from './statements.js';
import { createPostgresStore } from './store.js';
import {
  completedReport,
  engineOn,
  openTasks,
  publish,
  type EngineOnPostgres,
  type OpenTask,
} from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId } from './testing/writes.js';
import { createTimerStore, type TimerStore } from './timer-store.js';

type DueTimer = Extract<DueItem, { kind: 'timer' }>;
type DueTask = Extract<DueItem, { kind: 'task' }>;

describe('due rows on PostgreSQL', () => {
  let fixture: StoreFixture;
  let timers: TimerStore;
  const engines: EngineOnPostgres[] = [];
  const stores: Store[] = [];

  beforeAll(async () => {
    fixture = await storeFixture();
    for (const text of [diamond, single]) await publish(fixture, text);
    timers = createTimerStore({ url: fixture.url });
  });
  afterEach(() => fixture.moveClock('0 seconds'));
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await timers.close();
    await fixture.close();
  });

  const open = (options: Partial<EngineOptions> = {}) => {
    const made = engineOn(fixture.url, options);
    engines.push(made);
    return made.engine;
  };

  const start = (definitionId: string, engine = open()): Promise<RunStartedResult> =>
    engine.start({ namespace: NAMESPACE, definitionId, input: '1' });

  const firstTask = async (runId: string): Promise<OpenTask> => (await openTasks(fixture)).get(runId)![0]!;

  const wakeOf = async (runId: string): Promise<DueTask> => {
    const { taskId, attempt } = await firstTask(runId);
    return { kind: 'task', namespace: NAMESPACE, runId, taskId, attempt };
  };

  /** A timer as an earlier generation of its node, or an earlier life of the run, would have left it. */
  async function plantTimer(runId: string, kind: string, generation: number): Promise<DueTimer> {
    const timerId = newRunId();
    await fixture.query(
      `INSERT INTO baton.timers (timer_id, run_id, namespace, kind, node_id, generation, due_at)
       VALUES ($1, $2, $3, $4, $5, $6, baton.now() - interval '1 second')`,
      [timerId, runId, NAMESPACE, kind, kind === 'wait-timeout' ? 'wait' : null, generation],
    );
    return { kind: 'timer', namespace: NAMESPACE, runId, timerId };
  }

  const dueOf = async (runId: string): Promise<readonly DueItem[]> =>
    (await timers.readDue(1_000)).items.filter((item) => item.runId === runId);

  const timersOf = (runId: string) =>
    fixture.query<{ generation: number }>('SELECT generation FROM baton.timers WHERE run_id = $1', [runId]);

  const stuckReason = async (runId: string) =>
    (
      await fixture.query<{ reason: string | null }>(
        'SELECT stuck_reason AS reason FROM baton.workflow_runs WHERE run_id = $1',
        [runId],
      )
    )[0]!.reason;

  it('R21: a timer that is gone is ignored', async () => {
    const engine = open();
    const { runId } = await start('single', engine);
    const gone = { kind: 'timer', namespace: NAMESPACE, runId, timerId: newRunId() } as const;
    expect(await engine.fireDue([gone])).toEqual([{ outcome: 'IGNORED', reason: 'the timer is gone' }]);
  });

  it('R21: a stale timer is deleted by the answer, beside the one that counts, and of a run that has ended', async () => {
    const engine = open();
    const { runId } = await start('diamond', engine);
    await engine.report(completedReport(runId, await firstTask(runId)));
    const stale = await plantTimer(runId, 'wait-timeout', 7);
    expect(await engine.fireDue([stale, stale])).toEqual([
      { outcome: 'IGNORED', reason: 'the wait is over' },
      { outcome: 'IGNORED', reason: 'the timer is gone' },
    ]);
    expect(await timersOf(runId)).toEqual([{ generation: 1 }]);

    const ended = (await start('single', engine)).runId;
    await engine.cancel({ namespace: NAMESPACE, runId: ended, requestId: 'stop', reason: 'asked' });
    const before = await engine.history(NAMESPACE, ended, 0, 100);
    const late = await plantTimer(ended, 'run-deadline', 1);
    expect(await open().fireDue([late])).toMatchObject([{ outcome: 'IGNORED' }]);
    expect(await timersOf(ended)).toEqual([]);
    expect((await engine.getRun(NAMESPACE, ended, false)).run.status).toBe('CANCELLED');
    expect(await engine.history(NAMESPACE, ended, 0, 100)).toEqual(before);
  });

  it('R21: a timer whose handling throws is pushed back, twice as long each time, and flags its run in the end', async () => {
    const broken = new Set<string>();
    const engine = open({
      limits: { timerFailures: 3 },
      decide: (dag, run, event, env) => {
        if (event.type === 'TimerFired' && broken.has(event.timerId)) throw new Error('a bug');
        return decide(dag, run, event, env);
      },
    });
    const { runId } = await start('single', engine);
    const other = (await start('single', engine)).runId;
    await fixture.stopClock();
    const bad = await plantTimer(runId, 'run-deadline', 1);
    broken.add(bad.timerId);
    const pauses: number[] = [];
    for (let round = 1; round <= 3; round += 1) {
      const good = await plantTimer(other, 'run-deadline', 7);
      expect(await engine.fireDue([bad, good])).toMatchObject([{ outcome: 'FAILED' }, { outcome: 'IGNORED' }]);
      const [row] = await fixture.query<{ ms: number }>(
        `SELECT extract(epoch FROM due_at - baton.now())::float AS ms FROM baton.timers WHERE timer_id = $1`,
        [bad.timerId],
      );
      pauses.push(Math.round(row!.ms));
      // It is not on the page of what is due until then.
      expect(await dueOf(runId)).toEqual([]);
      expect((await stuckReason(runId))?.startsWith('a timer fails') ?? false).toBe(round === 3);
    }
    expect(pauses).toEqual([1, 2, 4]);
    broken.clear();
    await fixture.moveClock('10 seconds');
    expect(await engine.fireDue([bad])).toEqual([{ outcome: 'APPLIED' }]);
    expect(await stuckReason(runId)).toBeNull();
  });

  it('R21: a wake-up of a task whose handling throws is counted, pushed back and flagged like a timer', async () => {
    let isBroken = true;
    const engine = open({
      limits: { timerFailures: 3 },
      decide: (dag, run, event, env) => {
        if (event.type === 'TaskWoken' && isBroken) throw new Error('a bug');
        return decide(dag, run, event, env);
      },
    });
    const { runId } = await start('single', engine);
    await fixture.moveClock('301 seconds');
    await fixture.stopClock();
    const wake = await wakeOf(runId);
    const pauses: number[] = [];
    for (let round = 1; round <= 3; round += 1) {
      expect(await engine.fireDue([wake])).toMatchObject([{ outcome: 'FAILED' }]);
      const [row] = await fixture.query<{ s: number; n: number }>(
        `SELECT extract(epoch FROM wake_at - baton.now())::float AS s, wake_failures AS n FROM baton.task_instances
         WHERE task_id = $1`,
        [wake.taskId],
      );
      pauses.push(Math.round(row!.s));
      expect(row!.n).toBe(round);
      expect(await dueOf(runId)).toEqual([]);
      expect((await stuckReason(runId))?.startsWith('a wake-up fails') ?? false).toBe(round === 3);
    }
    expect(pauses).toEqual([1, 2, 4]);
    isBroken = false;
    expect(await engine.fireDue([wake])).toEqual([{ outcome: 'APPLIED' }]);
    const [after] = await fixture.query('SELECT attempt, wake_failures FROM baton.task_instances WHERE run_id = $1', [
      runId,
    ]);
    expect(after).toEqual({ attempt: 2, wake_failures: 0 });
    expect(await stuckReason(runId)).toBeNull();
  });

  it('R21: rows of a run that somebody holds for long make room on the page', async () => {
    const impatient = createPostgresStore({ url: fixture.url, poolSize: 4, timeouts: { lockMs: 100 } });
    stores.push(impatient);
    const engine = open({ store: impatient });
    const { runId } = await start('single', engine);
    const other = (await start('single', engine)).runId;
    await fixture.stopClock();
    const held = await plantTimer(runId, 'run-deadline', 1);
    const free = await plantTimer(other, 'run-deadline', 1);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [runId]);
    expect(await engine.fireDue([held, free])).toEqual([
      { outcome: 'FAILED', reason: 'STORE_UNAVAILABLE' },
      { outcome: 'APPLIED' },
    ]);
    expect(await dueOf(runId)).toEqual([]);
    await holder.query('COMMIT');
    await fixture.moveClock('2 seconds');
    expect(await dueOf(runId)).toEqual([held]);
    expect(await engine.fireDue([held])).toEqual([{ outcome: 'APPLIED' }]);
  });

  it('R22: reading what is due waits for no lock, and leaves none behind', async () => {
    const { runId } = await start('single');
    const timer = await plantTimer(runId, 'run-deadline', 1);
    await fixture.moveClock('301 seconds');
    const wake = await wakeOf(runId);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.timers FOR UPDATE');
    await holder.query('SELECT 1 FROM baton.task_instances FOR UPDATE');
    const both = expect.arrayContaining([timer, wake]) as readonly DueItem[];
    expect(await dueOf(runId)).toEqual(both);
    await holder.query('ROLLBACK');

    // The other way round: rows that a reader has just read are free at once, within its transaction too.
    const reader = await fixture.connect();
    await reader.query('BEGIN');
    for (const name of ['read-due-tasks', 'read-due-timers']) {
      await reader.query(bind(statement(name), { limit: 10 }));
    }
    await holder.query('SELECT 1 FROM baton.timers FOR UPDATE NOWAIT');
    await holder.query('SELECT 1 FROM baton.task_instances FOR UPDATE NOWAIT');
    await reader.query('ROLLBACK');
  });

  it('R22: two services that hand over the same row have it applied once', async () => {
    const [one, two] = [open(), open()];
    const { runId } = await start('single', one);
    const timer = await plantTimer(runId, 'run-deadline', 1);
    const gate = await fixture.connect();
    await gate.query('BEGIN');
    await gate.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [runId]);
    const answers = Promise.all([one.fireDue([timer]), two.fireDue([timer])]);
    await gate.query('COMMIT');
    const outcomes = (await answers).flat().map(({ outcome }) => outcome);
    expect(outcomes.sort()).toEqual(['APPLIED', 'IGNORED']);
    expect((await one.history(NAMESPACE, runId, 0, 100)).map(({ kind }) => kind)).toContain('run.deadline_passed');
    expect(await timersOf(runId)).toEqual([]);
  });
});
