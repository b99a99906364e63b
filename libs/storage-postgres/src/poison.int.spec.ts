import { decide } from '@baton/core';
import type { EngineApi, EngineOptions } from '@baton/engine';
import { chain, single } from '@baton/engine/testing';
import { rowsOf } from './testing/rows-of.js';
import { completedReport, engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId } from './testing/writes.js';

/** PostgreSQL refuses the rows of one run with any error we like, as often as we like. */
const TRAP = `
CREATE SCHEMA traps;
CREATE SEQUENCE traps.sprung;
SELECT nextval('traps.sprung');
CREATE TABLE traps.runs (run_id uuid PRIMARY KEY, sqlstate text NOT NULL, only_output text, until bigint);
CREATE FUNCTION traps.spring() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
  SELECT t.sqlstate INTO found FROM traps.runs t
  WHERE t.run_id = NEW.run_id AND (t.only_output IS NULL OR t.only_output = NEW.output)
    AND (t.until IS NULL OR (SELECT last_value FROM traps.sprung) < t.until);
  IF found IS NOT NULL THEN
    PERFORM nextval('traps.sprung');
    RAISE EXCEPTION 'a trap' USING ERRCODE = found;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER trap BEFORE UPDATE ON baton.task_instances FOR EACH ROW EXECUTE FUNCTION traps.spring();
`;

describe('poison', () => {
  let fixture: StoreFixture;
  const open: EngineOnPostgres[] = [];

  beforeAll(async () => {
    fixture = await storeFixture(18);
    for (const text of [single, chain]) await publish(fixture, text);
    await fixture.query(TRAP);
  });
  afterEach(async () => {
    await fixture.query('DELETE FROM traps.runs');
    await fixture.moveClock('0 seconds');
    await Promise.all(open.splice(0).map((engine) => engine.close()));
  });
  afterAll(() => fixture.close());

  const engineWith = (options: Partial<EngineOptions> = {}) => {
    const engine = engineOn(fixture.url, { limits: { transientPauseMs: 1, transientRepeats: 2 }, ...options });
    open.push(engine);
    return engine.engine;
  };
  const start = async (engine: EngineApi, count: number, definitionId = 'single') => {
    const command = { namespace: NAMESPACE, definitionId, input: '{"n":1}' };
    const started = await Promise.all(Array.from({ length: count }, () => engine.start(command)));
    const tasks = await openTasks(fixture);
    return started.map(({ runId }) => ({ runId, task: tasks.get(runId)![0]! }));
  };
  const trap = async (runId: string, sqlstate: string, onlyOutput: string | null = null, times?: number) => {
    const until = times === undefined ? null : (await sprung()) + times;
    await fixture.query('INSERT INTO traps.runs VALUES ($1, $2, $3, $4)', [runId, sqlstate, onlyOutput, until]);
  };
  const sprung = async () => {
    const [row] = await fixture.query<{ n: string }>('SELECT last_value AS n FROM traps.sprung');
    return Number(row!.n);
  };
  const answer = (call: Promise<unknown>) => call.catch((error: { kind: string; code: string }) => `${error.kind} ${error.code}`); // prettier-ignore
  const runOf = async (runId: string) => {
    const [row] = await fixture.query<{ status: string; failure_code: string; stuck_reason: string; last_commit: string }>(
      'SELECT status, failure_code, stuck_reason, last_commit FROM baton.workflow_runs WHERE run_id = $1',
      [runId],
    ); // prettier-ignore
    return row!;
  };

  it('R8: a report that fails twice alone becomes the failure REPORT_REJECTED, in its own transaction, and is not retried', async () => {
    const engine = engineWith();
    const runs = await start(engine, 16, 'chain');
    const victim = runs[9]!;
    await trap(victim.runId, '22P05', '"poison"');
    const answers = await Promise.all(
      runs.map(({ runId, task }) => engine.report(completedReport(runId, task, runId === victim.runId ? '"poison"' : '1'))), // prettier-ignore
    );
    expect(answers).toEqual(runs.map((run) => (run === victim ? 'REJECTED' : 'APPLIED')));
    // 'a' may be tried three times by its definition: this failure ends it at once. It ran, so it is undone (W8).
    expect(await runOf(victim.runId)).toMatchObject({ status: 'COMPENSATING', failure_code: 'REPORT_REJECTED' });
    const { last_commit: commit } = await runOf(victim.runId);
    expect(await fixture.query('SELECT run_id FROM baton.workflow_runs WHERE last_commit = $1', [commit])).toEqual([
      { run_id: victim.runId },
    ]);
    const tries = await sprung();
    // The same worker again, and another one with something else.
    expect(await engine.report(completedReport(victim.runId, victim.task, '"poison"'))).toBe('DUPLICATE');
    expect(await engine.report(completedReport(victim.runId, victim.task, '"other"'))).toBe('CONFLICT');
    expect(await sprung()).toBe(tries);
  });

  it('R8: a report that fails once alone is not condemned: the second time decides', async () => {
    const engine = engineWith();
    const [run] = await start(engine, 1);
    await trap(run!.runId, '22P05', null, 1);
    expect(await engine.report(completedReport(run!.runId, run!.task))).toBe('APPLIED');
    expect(await runOf(run!.runId)).toMatchObject({ status: 'SUCCEEDED', failure_code: null });
  });

  it.each([
    ['22P02', 'REJECTED'],
    ['22003', 'REJECTED'],
    ['23514', 'REJECTED'],
    ['23505', 'REJECTED'],
    ['54000', 'REJECTED'],
    ['40001', 'unavailable STORE_UNAVAILABLE'],
    ['40P01', 'unavailable STORE_UNAVAILABLE'],
    ['53100', 'unavailable STORE_UNAVAILABLE'],
    ['53300', 'unavailable STORE_UNAVAILABLE'],
    ['57014', 'unavailable STORE_UNAVAILABLE'],
    ['57P03', 'unavailable STORE_UNAVAILABLE'],
    ['58030', 'unavailable STORE_UNAVAILABLE'],
    ['25006', 'unavailable STORE_UNAVAILABLE'],
    ['0A000', 'unavailable STORE_UNAVAILABLE'],
    ['42703', 'unavailable STORE_UNAVAILABLE'],
    ['P0001', 'unavailable STORE_UNAVAILABLE'],
    ['XX001', 'unavailable STORE_UNAVAILABLE'],
  ])(
    'R8: an error %s of PostgreSQL makes of a report: %s; only content is condemned, everything else alarms',
    async (sqlstate, wanted) => {
      const kinds: string[] = [];
      const engine = engineWith({ hooks: { onStoreError: ({ kind }) => kinds.push(kind) } });
      const [run] = await start(engine, 1);
      const { runId, task } = run!;
      // Content: only this output cannot be stored. All else: nothing can.
      await trap(runId, sqlstate, wanted === 'REJECTED' ? '"x"' : null);
      const before = await rowsOf(fixture, [runId]);
      expect(await answer(engine.report(completedReport(runId, task, '"x"')))).toBe(wanted);
      if (wanted === 'REJECTED') {
        expect(kinds).toEqual(['data', 'data']);
        return;
      }
      expect(new Set(kinds)).toEqual(new Set([sqlstate.startsWith('40') || sqlstate === '57P03' ? 'transient' : 'unavailable'])); // prettier-ignore
      expect(await rowsOf(fixture, [runId])).toEqual(before);
      await fixture.query('DELETE FROM traps.runs');
      expect(await engine.report(completedReport(runId, task, '"x"'))).toBe('APPLIED');
    },
  );

  it('R8: a run on which decide throws is flagged with the reason, keeps its wake-ups, and its caller hears FAILED_PRECONDITION', async () => {
    const stuck: string[] = [];
    const engine = engineWith({
      hooks: { onStuck: ({ runId }, reason) => stuck.push(`${runId} ${reason}`) },
      decide: (dag, run, event, env) => {
        if (event.type === 'NodeCompleted' && event.output === '"boom"') throw new Error('a bug of ours');
        return decide(dag, run, event, env);
      },
    });
    const runs = await start(engine, 3);
    const { runId, task } = runs[1]!;
    const taskRow = () =>
      rowsOf(fixture, [runId]).then((rows) => rows.filter((row) => !row.startsWith('workflow_runs')));
    const before = await taskRow();
    const answers = await Promise.all(
      runs.map((run) => answer(engine.report(completedReport(run.runId, run.task, run.runId === runId ? '"boom"' : '1')))), // prettier-ignore
    );
    expect(answers).toEqual(['APPLIED', 'precondition RUN_STUCK', 'APPLIED']);
    expect(stuck).toEqual([`${runId} a bug of ours`]);
    expect((await runOf(runId)).stuck_reason).toBe('a bug of ours');
    expect(await taskRow()).toEqual(before);
    const [wake] = await fixture.query('SELECT wake_at IS NOT NULL AS kept FROM baton.task_instances WHERE task_id = $1', [task.taskId]); // prettier-ignore
    expect(wake).toEqual({ kept: true });
    // Once the bug is mended the run goes on by itself, and the flag goes with its next decision.
    expect(await engineWith().report(completedReport(runId, task))).toBe('APPLIED');
    expect(await runOf(runId)).toMatchObject({ status: 'SUCCEEDED', stuck_reason: null });
  });

  it('R8: a wake-up on which decide throws is put off and not lost, and the run is flagged', async () => {
    const engine = engineWith({
      decide: (dag, run, event, env) => {
        if (event.type === 'TaskWoken') throw new Error('a bug of ours');
        return decide(dag, run, event, env);
      },
    });
    const [run, other] = await start(engine, 2);
    await fixture.moveClock('6 minutes');
    const due = [run!, other!].map(({ runId, task }) => ({
      kind: 'task' as const,
      namespace: NAMESPACE,
      runId,
      ...task,
    }));
    expect(await engine.fireDue(due)).toMatchObject([
      { outcome: 'FAILED', reason: 'RUN_STUCK' },
      { outcome: 'FAILED', reason: 'RUN_STUCK' },
    ]);
    for (const { runId } of [run!, other!]) expect((await runOf(runId)).stuck_reason).toBe('a bug of ours');
    const wakes = await fixture.query<{ later: boolean }>(
      'SELECT wake_at > baton.now() AS later FROM baton.task_instances WHERE run_id = ANY ($1::uuid[])',
      [[run!.runId, other!.runId]],
    );
    expect(wakes).toEqual([{ later: true }, { later: true }]);
    await fixture.moveClock('20 minutes');
    expect(await engineWith().fireDue(due)).toMatchObject([{ outcome: 'APPLIED' }, { outcome: 'APPLIED' }]);
    expect((await runOf(run!.runId)).stuck_reason).toBeNull();
  });

  const deep = '['.repeat(2_000) + ']'.repeat(2_000);
  const huge = JSON.stringify('x'.repeat(3 * 1024 * 1024));
  it.each([
    ['NUL', '"a\\u0000b"'],
    ['a lone surrogate, escaped', '"\\ud800"'],
    ['a lone surrogate, as it is', '"\ud800"'],
    ['no JSON', '{'],
    ['more levels than can be read', deep],
    ['more bytes than fit', huge],
  ])(
    'R8: %s is refused before the queue and leaves nothing; a report of it fails its attempt for good',
    async (_what, text) => {
      const engine = engineWith();
      const [run] = await start(engine, 1, 'chain');
      const { runId, task } = run!;
      const address = { namespace: NAMESPACE, runId };
      const before = await rowsOf(fixture, [runId]);
      const refused = async (call: () => Promise<unknown>) =>
        expect(await answer(call())).toMatch(/^(invalid|too-large) /);
      await refused(() => engine.start({ namespace: NAMESPACE, definitionId: 'single', input: text }));
      await refused(() => engine.signal({ ...address, name: 'go', payload: text, signalId: 's' }));
      await refused(() => engine.retry({ ...address, requestId: 'r', input: text }));
      await refused(() => engine.heartbeat({ ...address, ...task, leaseId: newRunId(), ttlMs: 0, progress: text }));
      expect(await rowsOf(fixture, [runId])).toEqual(before);
      expect(await engine.report(completedReport(runId, task, text))).toBe('REJECTED');
      expect((await runOf(runId)).failure_code).toBe('REPORT_REJECTED');
    },
  );

  it('R8: names with NUL, a lone surrogate or too many characters are refused before the queue too', async () => {
    const engine = engineWith();
    const [run] = await start(engine, 1);
    const { runId, task } = run!;
    const address = { namespace: NAMESPACE, runId };
    const before = await rowsOf(fixture, [runId]);
    for (const name of ['a\u0000b', '\ud800', 'x'.repeat(256), '']) {
      const calls = [
        () => engine.signal({ ...address, name, payload: '1', signalId: 's' }),
        () => engine.signal({ ...address, name: 'go', payload: '1', signalId: name }),
        () => engine.cancel({ ...address, requestId: name, reason: 'asked' }),
        () => engine.retry({ ...address, requestId: 'r', fromNodeId: name }),
        () => engine.start({ namespace: NAMESPACE, definitionId: 'single', input: '1', idempotencyKey: name }),
        () => engine.start({ namespace: NAMESPACE, definitionId: 'single', input: '1', businessKey: name }),
        () => engine.acquire({ ...address, ...task, owner: name, callId: 'c', ttlMs: 0, wantInput: false }),
        () => engine.acquire({ ...address, ...task, owner: 'w', callId: name, ttlMs: 0, wantInput: false }),
      ];
      for (const call of calls) expect(await answer(call())).toMatch(/^invalid /);
    }
    expect(await rowsOf(fixture, [runId])).toEqual(before);
    // What a worker says in words is put right, never a reason to send it again.
    const failure = { code: 'X\u0000', message: 'a\u0000b \ud800' };
    expect(await engine.report({ ...address, ...task, status: 'failed', failure })).toBe('APPLIED');
  });
});
