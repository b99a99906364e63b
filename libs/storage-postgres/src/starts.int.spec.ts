import { randomUUID } from 'node:crypto';
import type { RunStartWrite } from '@baton/engine';
import { eventually } from '@baton/testkit';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import {
  dispatchedTask,
  journalRow,
  newRunId,
  outboxRow,
  refOf,
  RUNNING,
  runWrite,
  startWrite,
  taskState,
} from './testing/writes.js';

describe.each(MAJORS)('starts on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;

  beforeAll(async () => {
    fixture = await storeFixture(major);
  });
  afterAll(() => fixture.close());

  const fullStart = (over: Partial<RunStartWrite> = {}, runId = newRunId()): RunStartWrite =>
    startWrite(runId, over, {
      tasks: [dispatchedTask(taskState())],
      journal: [journalRow(1, { kind: 'run.started' })],
      outbox: [outboxRow(1)],
    });
  const start = (...starts: RunStartWrite[]) => fixture.store.writeStarts({ batchId: randomUUID(), starts });
  const idOf = (one: RunStartWrite) => one.write.runId;
  const end = (runId: string, version = 1) =>
    fixture.store.write({
      batchId: randomUUID(),
      runs: [runWrite(runId, version, { run: { ...RUNNING, status: 'SUCCEEDED' } })],
    });
  const rowsOf = async (runId: string) => {
    const tables = ['workflow_runs', 'run_payloads', 'task_instances', 'run_journal', 'outbox'];
    const counts: number[] = [];
    for (const table of tables) {
      const [row] = await fixture.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM baton.${table} WHERE run_id = $1`,
        [runId],
      );
      counts.push(row!.n);
    }
    return counts.join(' ');
  };

  it('writes a run with all its rows, and its traceparent for every message that follows', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const one = fullStart({ traceparent, startedAtMs: Date.UTC(2026, 0, 2) });
    const { created, existing } = await start(one);
    expect([[...created], existing.size]).toEqual([[idOf(one)], 0]);
    expect(await rowsOf(idOf(one))).toBe('1 1 1 1 1');
    const stored = (await fixture.store.readRuns([refOf(idOf(one))])).get(idOf(one));
    expect(stored).toMatchObject({ traceparent, state: { version: 1, definitionId: 'order', epoch: 1 } });
    expect((await fixture.store.getRun('default', idOf(one), true))?.run.startedAt).toEqual(
      new Date(Date.UTC(2026, 0, 2)),
    );
  });

  it('creates one run for 50 starts with one idempotency key, at once and in one batch (R24, I11, B77)', async () => {
    const idempotencyKey = randomUUID();
    const starts = Array.from({ length: 50 }, () => fullStart({ idempotencyKey }));
    const results = await Promise.all([start(...starts.slice(0, 10)), ...starts.slice(10).map((one) => start(one))]);
    const created = results.flatMap((result) => [...result.created]);
    expect(created).toHaveLength(1);
    const others = results.flatMap((result) => [...result.existing.values()]);
    expect(others).toHaveLength(49);
    for (const other of others) {
      expect(other).toEqual({
        reason: 'idempotency-key',
        runId: created[0],
        requestHash: 'request',
        status: 'RUNNING',
      });
    }
    for (const one of starts)
      expect(await rowsOf(idOf(one))).toBe(idOf(one) === created[0] ? '1 1 1 1 1' : '0 0 0 0 0');
  }, 60_000);

  it('answers the hash of the request that has the key, so that another body is told apart (B78)', async () => {
    const first = fullStart({ idempotencyKey: 'k-1', requestHash: 'body A' });
    await start(first);
    const { existing } = await start(fullStart({ idempotencyKey: 'k-1', requestHash: 'body B' }));
    expect([...existing.values()]).toMatchObject([{ runId: idOf(first), requestHash: 'body A' }]);
  });

  it('keeps keys of two namespaces apart (I14)', async () => {
    const mine = fullStart({ idempotencyKey: 'shared' });
    const theirs = fullStart({ idempotencyKey: 'shared' });
    const foreign = { ...theirs, write: { ...theirs.write, namespace: 'stranger' } };
    expect((await start(mine, foreign)).created.size).toBe(2);
  });

  it('keeps a business key for its open run, and hands it over when that run has ended', async () => {
    const businessKey = randomUUID();
    const first = fullStart({ businessKey });
    await start(first);
    const refused = fullStart({ businessKey, idempotencyKey: randomUUID(), requestHash: 'other' });
    expect((await start(refused)).existing.get(idOf(refused))).toEqual({
      reason: 'business-key',
      runId: idOf(first),
      requestHash: 'request',
      status: 'RUNNING',
    });
    expect(await rowsOf(idOf(refused))).toBe('0 0 0 0 0');

    await end(idOf(first));
    // The key that the refused start had inserted went with it.
    expect([...(await start(refused)).created]).toEqual([idOf(refused)]);
    const third = fullStart({ businessKey });
    expect((await start(third)).existing.get(idOf(third))).toMatchObject({
      runId: idOf(refused),
      requestHash: 'other',
    });
    const { runs } = await fixture.store.listRuns({ namespace: 'default', businessKey, pageSize: 10 });
    expect(runs.map((run) => [run.runId, run.businessKey])).toEqual(
      [idOf(refused), idOf(first)]
        .sort()
        .reverse()
        .map((runId) => [runId, businessKey]),
    );
  });

  it('hands a business key to one of many starts that want it at once', async () => {
    const businessKey = randomUUID();
    const first = fullStart({ businessKey });
    await start(first);
    await end(idOf(first));
    const results = await Promise.all(Array.from({ length: 10 }, () => start(fullStart({ businessKey }))));
    expect(results.filter((result) => result.created.size === 1)).toHaveLength(1);
  });

  it('locks the business key before the run that is reopened, and gives it back (R24)', async () => {
    const businessKey = randomUUID();
    const first = fullStart({ businessKey });
    const second = fullStart({ businessKey });
    await start(first);
    await end(idOf(first));
    await start(second);
    const reopen = () =>
      fixture.store.withLockedRuns(
        [refOf(idOf(first))],
        async (session) => {
          const holder = session.keyHolders.get(idOf(first));
          if (holder?.status === 'SUCCEEDED') await session.takeKeys([refOf(idOf(first))]);
          return holder;
        },
        { keysFirst: true },
      );
    expect(await reopen()).toEqual({ runId: idOf(second), status: 'RUNNING' });
    await end(idOf(second));
    expect(await reopen()).toEqual({ runId: idOf(second), status: 'SUCCEEDED' });
    expect(await reopen()).toBeUndefined();
  });

  it('compares a run id that the client chose with what was started under it', async () => {
    const one = fullStart({ clientRunId: true });
    expect((await start(one)).created.size).toBe(1);
    expect((await start({ ...one, requestHash: 'other' })).existing.get(idOf(one))).toEqual({
      reason: 'run-id',
      runId: idOf(one),
      requestHash: 'request',
      status: 'RUNNING',
    });
    const ours = fullStart();
    await start(ours);
    const stolen = fullStart({ clientRunId: true }, idOf(ours));
    expect((await start(stolen)).existing.get(idOf(ours))).toMatchObject({ reason: 'run-id', requestHash: '' });
    const abroad = { ...stolen, write: { ...stolen.write, namespace: 'stranger' } };
    expect((await start(abroad)).existing.get(idOf(ours))).toMatchObject({ reason: 'run-id', requestHash: '' });
    expect(await rowsOf(idOf(ours))).toBe('1 1 1 1 1');
  });

  it('creates one run for one client run id, sent many times at once', async () => {
    const one = fullStart({ clientRunId: true });
    const results = await Promise.all(Array.from({ length: 10 }, () => start(one)));
    expect(results.filter((result) => result.created.size === 1)).toHaveLength(1);
  });

  it('never throws away what it has committed: a start that fails after that stays without an answer', async () => {
    const key = randomUUID();
    await start(fullStart({ idempotencyKey: key }));
    const plain = fullStart();
    const again = fullStart({ idempotencyKey: key });
    const broken = fullStart({ idempotencyKey: randomUUID(), businessKey: 'a\u0000b' });
    const { created, existing } = await start(plain, again, broken);
    expect([...created]).toEqual([idOf(plain)]);
    expect(existing.has(idOf(broken))).toBe(false);
    await expect(start(broken)).rejects.toMatchObject({ kind: 'data' });
    expect(await rowsOf(idOf(broken))).toBe('0 0 0 0 0');
  });

  it('waits for a start that is being committed when it is asked whether it was (R6)', async () => {
    const batchId = randomUUID();
    const [here, absent] = [newRunId(), newRunId()];
    const old = await fixture.connect();
    await old.query('BEGIN');
    await old.query(
      `INSERT INTO baton.workflow_runs (run_id, namespace, definition_id, definition_version, route, status, root_run_id,
        started_at, last_commit) VALUES ($1, 'default', 'order', 1, 'kafka', 'RUNNING', $1, now(), $2)`,
      [here, batchId],
    );
    let answered = false;
    const asked = fixture.store.committedRuns(batchId, [refOf(here), refOf(absent)]).finally(() => {
      answered = true;
    });
    await eventually(
      async () => {
        const waiting = await fixture.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return waiting.length > 0;
      },
      { what: 'the question to wait for the old backend' },
    );
    expect(answered).toBe(false);
    await old.query('COMMIT');
    expect([...(await asked)]).toEqual([here]);
    expect(await rowsOf(absent)).toBe('0 0 0 0 0');
  });

  it('puts a run older than every partition into the DEFAULT one (R25)', async () => {
    const one = fullStart({}, newRunId(Date.UTC(2020, 0, 1)));
    await start(one);
    expect(
      await fixture.query(
        `SELECT c.relname AS part FROM baton.workflow_runs r JOIN pg_class c ON c.oid = r.tableoid WHERE r.run_id = $1`,
        [idOf(one)],
      ),
    ).toEqual([{ part: 'workflow_runs_default' }]);
    expect((await fixture.store.readRuns([refOf(idOf(one))])).size).toBe(1);
  });
});
