import type { EngineApi, RunStartedResult } from '@baton/engine';
import { chain, diamond, single } from '@baton/engine/testing';
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

describe('engines on one PostgreSQL', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let one: EngineApi;
  let two: EngineApi;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    for (const text of [chain, diamond, single]) await publish(fixture, text);
    engines = [engineOn(fixture.url), engineOn(fixture.url, { limits: { cachedStateBytes: 0 }, lanes: 2 })];
    one = engines[0]!.engine;
    two = engines[1]!.engine;
  });

  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });

  const start = (engine: EngineApi, definitionId: string): Promise<RunStartedResult> =>
    engine.start({ namespace: NAMESPACE, definitionId, input: '{"big":9007199254740993, "x":[ ]}' });

  const codeOf = (error: { readonly code?: string }): string => error.code ?? String(error);

  it('drives batches of 1 to 64 runs to their end, each step once (I2, I5)', async () => {
    for (const size of [1, 2, 7, 64]) {
      const started = await Promise.all(Array.from({ length: size }, (_x, n) => start(n % 2 ? one : two, 'chain')));
      const runs = started.map(({ runId }) => runId);
      for (let step = 0; step < 3; step += 1) {
        const open = await openTasks(fixture);
        const reports = runs.flatMap((runId) => (open.get(runId) ?? []).map((task) => completedReport(runId, task)));
        expect(reports).toHaveLength(size);
        const outcomes = await Promise.all(reports.flatMap((report) => [one.report(report), two.report(report)]));
        expect(outcomes.filter((outcome) => outcome === 'APPLIED')).toHaveLength(size);
        expect(outcomes.filter((outcome) => outcome === 'DUPLICATE')).toHaveLength(size);
      }
      const rows = await fixture.query<{ status: string; journal: number; dispatched: number; gaps: number }>(
        `SELECT r.status,
           (SELECT count(*)::int FROM baton.run_journal j WHERE j.run_id = r.run_id) AS journal,
           (SELECT count(*)::int FROM baton.outbox o WHERE o.run_id = r.run_id AND o.type = 'task.dispatched') AS dispatched,
           (SELECT (max(run_seq) - count(*))::int FROM baton.outbox o WHERE o.run_id = r.run_id) AS gaps
         FROM baton.workflow_runs r WHERE r.run_id = ANY ($1::uuid[])`,
        [runs],
      );
      expect(rows).toHaveLength(size);
      for (const row of rows) expect(row).toMatchObject({ status: 'SUCCEEDED', dispatched: 3, gaps: 0 });
    }
  });

  it('keeps input and output byte for byte (B69, B70)', async () => {
    const { runId } = await start(one, 'single');
    const [task] = (await openTasks(fixture)).get(runId) ?? [];
    await one.report(completedReport(runId, task!, '{"n":18014398509481985, "list":[ ]}'));
    const details = await two.getRun(NAMESPACE, runId, true);
    expect(details.input).toBe('{"big":9007199254740993, "x":[ ]}');
    expect(details.tasks[0]?.output).toBe('{"n":18014398509481985, "list":[ ]}');
  });

  it('makes one run of 50 parallel starts with one key (B77)', async () => {
    const command = { namespace: NAMESPACE, definitionId: 'single', input: '{"a":1}', idempotencyKey: 'one-of-50' };
    const results = await Promise.all(Array.from({ length: 50 }, (_x, n) => (n % 2 ? one : two).start(command)));
    expect(results.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(results.map(({ runId }) => runId)).size).toBe(1);
    const runId = results[0]!.runId;
    const [count] = await fixture.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM baton.outbox WHERE run_id = $1 AND type = 'task.dispatched'`,
      [runId],
    );
    expect(count?.n).toBe(1);
    await expect(one.start({ ...command, input: '{"a":2}' })).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
  });

  it('B78: takes a start again for the same one after another version was deployed, and refuses it for another version', async () => {
    const command = { namespace: NAMESPACE, definitionId: 'single', input: '{"a":1,"b":2}', idempotencyKey: 'K' };
    const first = await one.start(command);
    await publish(fixture, JSON.stringify({ ...(JSON.parse(single) as object), version: 2 }));
    expect(await two.start({ ...command, input: '{ "b": 2, "a": 1 }' })).toMatchObject({
      runId: first.runId,
      created: false,
    });
    await expect(two.start({ ...command, definitionVersion: 2 })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_MISMATCH',
    });
    expect((await one.getRun(NAMESPACE, first.runId, false)).run).toMatchObject({ definitionVersion: 1 });
  });

  it('keeps a business key for one open run, through races, ends and retries (R24)', async () => {
    const command = { namespace: NAMESPACE, definitionId: 'single', input: null, businessKey: 'order-1' };
    const settled = await Promise.all(
      Array.from({ length: 10 }, (_x, n) => (n % 2 ? one : two).start(command).catch(codeOf)),
    );
    const made = settled.filter((result): result is RunStartedResult => typeof result !== 'string');
    expect(made).toHaveLength(1);
    expect(new Set(settled.filter((result) => typeof result === 'string'))).toEqual(new Set(['BUSINESS_KEY_IN_USE']));
    const first = made[0]!.runId;
    await one.report(failedReport(first, (await openTasks(fixture)).get(first)![0]!));
    const second = (await two.start(command)).runId;
    const retry = { namespace: NAMESPACE, runId: first, requestId: 'again' };
    await expect(one.retry(retry)).rejects.toMatchObject({ code: 'BUSINESS_KEY_IN_USE' });
    await two.report(failedReport(second, (await openTasks(fixture)).get(second)![0]!));
    expect(await one.retry(retry)).toMatchObject({ status: 'RUNNING', epoch: 2, duplicate: false });
    expect(await one.retry(retry)).toMatchObject({ epoch: 2, duplicate: true });
    await expect(two.start(command)).rejects.toMatchObject({ code: 'BUSINESS_KEY_IN_USE' });
  });

  it('R2: ends a run anew that is opened again and ended again in one write', async () => {
    // A wait has no instants of an attempt that the fold would have to keep: both events fit in one write.
    const nodes = [{ id: 'wait', type: 'wait', signal: 'go' }];
    await publish(fixture, JSON.stringify({ id: 'waiting', version: 1, nodes }));
    const { runId } = await start(one, 'waiting');
    await one.cancel({ namespace: NAMESPACE, runId, requestId: `first ${runId}`, reason: 'not now' });
    const endOf = async (): Promise<Date | null> => (await one.getRun(NAMESPACE, runId, false)).run.endedAt;
    const first = await endOf();
    const versionOf = async (): Promise<number | undefined> =>
      (
        await fixture.query<{ v: number }>('SELECT version::int AS v FROM baton.workflow_runs WHERE run_id = $1', [
          runId,
        ])
      )[0]?.v;
    const version = (await versionOf()) ?? 0;
    const address = { namespace: NAMESPACE, runId };
    const answers = await Promise.all([
      one.retry({ ...address, requestId: `again ${runId}` }),
      one.cancel({ ...address, requestId: `stop ${runId}`, reason: 'not after all' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['RUNNING', 'CANCELLED']);
    expect(await versionOf()).toBe(version + 1); // one write
    expect((await endOf())!.getTime()).toBeGreaterThan(first!.getTime());
  });

  it('gives one winner to cancels and completions that race, in both orders (B34)', async () => {
    const rounds = 60;
    const started = await Promise.all(Array.from({ length: rounds }, () => start(one, 'single')));
    const open = await openTasks(fixture);
    const seen = { cancelled: 0, succeeded: 0 };
    await Promise.all(
      started.map(async ({ runId }, round) => {
        const report = completedReport(runId, open.get(runId)![0]!);
        const cancel = { namespace: NAMESPACE, runId, requestId: `c${round}`, reason: 'race' };
        const ask = () => two.cancel(cancel).then(({ status }) => status, codeOf);
        const asked = round % 2 === 0 ? ask() : undefined;
        const [reported, cancelled] = await Promise.all([one.report(report), asked ?? ask()]);
        const { status } = (await one.getRun(NAMESPACE, runId, false)).run;
        if (status === 'CANCELLED') {
          seen.cancelled += 1;
          expect([reported, cancelled]).toEqual(['STALE', 'CANCELLED']);
        } else {
          seen.succeeded += 1;
          expect([status, reported, cancelled]).toEqual(['SUCCEEDED', 'APPLIED', 'RUN_TERMINAL']);
        }
      }),
    );
    expect(seen.cancelled + seen.succeeded).toBe(rounds);
  });

  it('applies one of many equal reports of 1 MiB in parallel, and dispatches downstream once (B11)', async () => {
    const { runId } = await start(one, 'chain');
    const [task] = (await openTasks(fixture)).get(runId) ?? [];
    const report = completedReport(runId, task!, JSON.stringify('x'.repeat(1_000_000)));
    const outcomes = await Promise.all(Array.from({ length: 12 }, (_x, n) => (n % 2 ? one : two).report(report)));
    expect(outcomes.filter((outcome) => outcome === 'APPLIED')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'DUPLICATE')).toHaveLength(11);
    expect(await one.report({ ...report, output: '1' })).toBe('CONFLICT');
    const [count] = await fixture.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM baton.outbox WHERE run_id = $1 AND type = 'task.dispatched'`,
      [runId],
    );
    expect(count?.n).toBe(2);
  });

  it('leases, renews, loses and hands out again by the clock of the database (R9, R10, R11, B20, B26)', async () => {
    const own = await storeFixture(18);
    const { engine, close } = engineOn(own.url);
    try {
      await publish(own, chain);
      const { runId } = await start(engine, 'chain');
      const task = (await openTasks(own)).get(runId)![0]!;
      const call = { namespace: NAMESPACE, runId, ...task, owner: 'w1', callId: 'c1', ttlMs: 0, wantInput: true };
      const granted = await engine.acquire(call);
      expect(granted).toMatchObject({
        status: 'GRANTED',
        attempt: 1,
        input: '{"from":{"big":9007199254740993, "x":[ ]}}',
      });
      expect(await engine.acquire(call)).toMatchObject({ status: 'GRANTED', leaseId: granted.leaseId });
      const both = await Promise.all([
        engine.acquire({ ...call, owner: 'w2' }),
        engine.acquire({ ...call, owner: 'w3' }),
      ]);
      expect(both.map(({ status }) => status)).toEqual(['HELD', 'HELD']);
      const beat = { namespace: NAMESPACE, runId, ...task, leaseId: granted.leaseId!, ttlMs: 0, progress: '{"at":3}' };
      expect(await engine.heartbeat(beat)).toMatchObject({ status: 'OK' });
      const due = { kind: 'task' as const, namespace: NAMESPACE, runId, ...task };
      expect(await engine.fireDue([due])).toMatchObject([{ outcome: 'IGNORED' }]);
      await own.moveClock('31 seconds');
      expect(await engine.heartbeat(beat)).toMatchObject({ status: 'LOST' });
      expect(await engine.fireDue([due, due])).toMatchObject([{ outcome: 'APPLIED' }, { outcome: 'IGNORED' }]);
      expect(await engine.report({ ...completedReport(runId, task), leaseId: granted.leaseId! })).toBe('STALE');
      const next = (await openTasks(own)).get(runId)![0]!;
      expect(next.attempt).toBe(2);
      const again = await engine.acquire({ ...call, ...next, owner: 'w2', callId: 'c2' });
      expect(again).toMatchObject({ status: 'GRANTED', attempt: 2, progress: '{"at":3}' });
      const report = completedReport(runId, next);
      expect(await engine.report({ ...report, leaseId: granted.leaseId! })).toBe('STALE');
      expect(await engine.report({ ...report, leaseId: again.leaseId! })).toBe('APPLIED');
    } finally {
      await close();
      await own.close();
    }
  });

  it('undoes in reverse order what a cancel leaves, and waits for the step that still runs (R18, B40)', async () => {
    const { runId } = await start(one, 'diamond');
    await one.report(completedReport(runId, (await openTasks(fixture)).get(runId)![0]!));
    const left = (await openTasks(fixture)).get(runId)!.find(({ nodeId }) => nodeId === 'left')!;
    const lease = await two.acquire({
      namespace: NAMESPACE,
      runId,
      ...left,
      owner: 'w',
      callId: 'c',
      ttlMs: 0,
      wantInput: false,
    });
    const cancelled = await two.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
    expect(cancelled.status).toBe('COMPENSATING');
    const beat = { namespace: NAMESPACE, runId, ...left, leaseId: lease.leaseId!, ttlMs: 0 };
    expect((await one.heartbeat(beat)).status).toBe('CANCELLED');
    expect(await one.report({ ...completedReport(runId, left), leaseId: lease.leaseId! })).toBe('APPLIED_CANCELLED');
    for (const undone of ['left', 'top']) {
      const open = (await openTasks(fixture)).get(runId) ?? [];
      expect(open.map(({ nodeId }) => nodeId)).toEqual([undone]);
      expect(await two.report(completedReport(runId, open[0]!))).toBe('APPLIED');
    }
    expect((await one.getRun(NAMESPACE, runId, false)).run).toMatchObject({
      status: 'CANCELLED',
      compensation: 'CLEAN',
    });
    const kinds = (await one.history(NAMESPACE, runId, 0, 500)).map(({ kind, seq }) => `${seq} ${kind}`);
    expect(kinds.at(-1)).toContain('run.cancelled');
    expect(kinds.map((line) => Number(line.split(' ')[0]))).toEqual(kinds.map((_line, index) => index + 1));
  });

  it('buffers signals, delivers each once and lets one of signal and timeout win (B49, B52)', async () => {
    const own = await storeFixture(18);
    const { engine, close } = engineOn(own.url);
    try {
      await publish(own, diamond);
      const { runId } = await start(engine, 'diamond');
      await engine.report(completedReport(runId, (await openTasks(own)).get(runId)![0]!));
      const [timer] = await own.query<{ timer_id: string }>('SELECT timer_id FROM baton.timers WHERE run_id = $1', [
        runId,
      ]);
      const due = { kind: 'timer' as const, namespace: NAMESPACE, runId, timerId: timer!.timer_id };
      expect(await engine.fireDue([due])).toMatchObject([{ outcome: 'IGNORED' }]);
      await own.moveClock('61 minutes');
      const signal = { namespace: NAMESPACE, runId, name: 'go', payload: '1', signalId: 's1' };
      const [fired, delivered] = await Promise.all([engine.fireDue([due]), engine.signal(signal).catch(codeOf)]);
      expect([fired[0]?.outcome, delivered]).toEqual(['APPLIED', { delivered: false, duplicate: false }]);
      expect(await engine.signal(signal)).toEqual({ delivered: false, duplicate: true });
      expect(await own.query('SELECT 1 FROM baton.timers WHERE run_id = $1', [runId])).toEqual([]);
    } finally {
      await close();
      await own.close();
    }
  });
});
