import { randomUUID } from 'node:crypto';
import type { EngineOptions, LockedSession, Store, WriteBatch } from '@baton/engine';
import { single } from '@baton/engine/testing';
import type { Client } from 'pg';
import { createPostgresStore } from './store.js';
import { completedReport, engineOn, openTasks, publish } from './testing/engine-on-postgres.js';
import { isHeld, waitingFor } from './testing/locks.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId, refOf, reportWrite, startRuns, startWrite, type StartedRun } from './testing/writes.js';

describe('locks', () => {
  let fixture: StoreFixture;
  let holder: Client;
  let looker: Client;

  beforeAll(async () => {
    fixture = await storeFixture(18);
    await publish(fixture, single);
    holder = await fixture.connect();
    looker = await fixture.connect();
  });
  afterAll(() => fixture.close());
  afterEach(() => holder.query('ROLLBACK'));

  const twoRuns = async (): Promise<readonly [StartedRun, StartedRun]> => {
    const [one, two] = await startRuns(fixture.store, 2);
    return one!.runId < two!.runId ? [one!, two!] : [two!, one!];
  };
  /** Another transaction takes a row and keeps it. */
  const hold = async (table: string, where: string, values: unknown[]) => {
    await holder.query('BEGIN');
    await holder.query(`SELECT 1 FROM baton.${table} WHERE ${where} FOR NO KEY UPDATE`, values);
  };
  const holdRun = (runId: string) => hold('workflow_runs', 'run_id = $1', [runId]);
  const runIsHeld = (runId: string) => isHeld(looker, 'workflow_runs', 'run_id = $1', [runId]);

  it('R7: are taken by run id, whatever the order of the batch: while the first is waited for, the next is free', async () => {
    const [first, second] = await twoRuns();
    await holdRun(first.runId);
    const refs = [refOf(second.runId), refOf(first.runId)];
    const locked = fixture.store.withLockedRuns(refs, async (session) => [...session.runs.keys()].sort());
    await waitingFor(fixture, 'run');
    expect(await runIsHeld(second.runId)).toBe(false);
    await holder.query('COMMIT');
    expect(await locked).toEqual([first.runId, second.runId]);
  });

  it('R7: of two batches that name the same runs in opposite orders never deadlock', async () => {
    const [first, second] = await twoRuns();
    await holdRun(first.runId);
    const orders = [
      [second, first],
      [first, second],
    ];
    const both = orders.map(
      (runs) =>
      fixture.store.withLockedRuns(runs.map(({ runId }) => refOf(runId)), async () => 'done'), // prettier-ignore
    );
    await waitingFor(fixture, 'run', 2);
    // The holder goes on to the second one: with the others in any other order this would be the third side of a ring.
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR NO KEY UPDATE', [second.runId]);
    await holder.query('COMMIT');
    expect(await Promise.all(both)).toEqual(['done', 'done']);
  });

  it('R7: are taken on runs before tasks: while a task is waited for, its run is held, and with it every other writer', async () => {
    const [run] = await twoRuns();
    const { runId, task } = run;
    await hold('task_instances', 'task_id = $1', [task.taskId]);
    const facts = fixture.store.withLockedRuns([refOf(runId)], (session) =>
      session.readNeeds([{ ...refOf(runId), needs: { leases: [task.taskId] } }]),
    );
    await waitingFor(fixture, 'task');
    expect(await runIsHeld(runId)).toBe(true);
    expect((await fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run)] })).held.size).toBe(0);
    await holder.query('COMMIT');
    expect((await facts).get(runId)?.leases?.size).toBe(1);

    await hold('task_instances', 'task_id = $1', [task.taskId]);
    const written = fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run)] });
    await waitingFor(fixture, 'task');
    expect(await runIsHeld(runId)).toBe(true);
    await holder.query('COMMIT');
    expect((await written).held.size).toBe(1);
  });

  it('R7: are taken on the task rows of several runs in the order of the runs', async () => {
    const [first, second] = await twoRuns();
    await hold('task_instances', 'task_id = $1', [first.task.taskId]);
    const runs = [second, first];
    const facts = fixture.store.withLockedRuns(runs.map(({ runId }) => refOf(runId)), (session) =>
      session.readNeeds(runs.map(({ runId, task }) => ({ ...refOf(runId), needs: { leases: [task.taskId] } }))),
    ); // prettier-ignore
    await waitingFor(fixture, 'task');
    expect(await isHeld(looker, 'task_instances', 'task_id = $1', [second.task.taskId])).toBe(false);
    await holder.query('COMMIT');
    expect((await facts).size).toBe(2);
  });

  it('R7, R24: are taken on a business key before its run: a retry that waits for the key holds no run', async () => {
    const runId = newRunId();
    const businessKey = randomUUID();
    await fixture.store.writeStarts({ batchId: randomUUID(), starts: [startWrite(runId, { businessKey })] });
    await hold('run_keys', 'key = $1', [businessKey]);
    const retried = fixture.store.withLockedRuns([refOf(runId)], async () => 'done', { keysFirst: true });
    await waitingFor(fixture, 'key');
    expect(await runIsHeld(runId)).toBe(false);
    // As a start does it that takes the key over: key first, then the run. The other order would be a deadlock.
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR NO KEY UPDATE', [runId]);
    await holder.query('COMMIT');
    expect(await retried).toBe('done');
  });

  it.each([
    ['one key each', false],
    ['two keys each', true],
  ])(
    'R7, R24: are taken on keys in one order by starts with %s: two that meet on both never deadlock',
    async (_what, two) => {
      const keys = ['a', 'b', 'c'].map((name) => `${name}-${randomUUID()}`);
      const startsOf = (order: readonly number[]) =>
        order.map((n, position) =>
          // Ids in the order of arrival: the keys must be sorted by themselves.
          startWrite(newRunId(Date.now() + position), {
            idempotencyKey: keys[n]!,
            ...(two ? { businessKey: randomUUID() } : {}),
          }),
        );
      // Somebody is about to start with the middle one.
      await holder.query('BEGIN');
      await holder.query(
        `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
       VALUES ('default', 'idempotency', $1, gen_random_uuid(), 'h', now())`,
        [keys[1]],
      );
      const batches = [[2, 1, 0], [0, 1, 2]].map((order) => startsOf(order)); // prettier-ignore
      const results = batches.map((starts) => fixture.store.writeStarts({ batchId: randomUUID(), starts }));
      await waitingFor(fixture, 'key', 2);
      // The last of the keys is still free: whoever waits for an earlier one has not taken it.
      await looker.query('BEGIN');
      await looker.query(`SET LOCAL lock_timeout = '2s'`);
      await looker.query(
        `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
       VALUES ('default', 'idempotency', $1, gen_random_uuid(), 'h', now())`,
        [keys[2]],
      );
      await looker.query('ROLLBACK');
      await holder.query('ROLLBACK');
      const made = (await Promise.all(results)).map(({ created }) => created.size);
      expect(made.reduce((sum, n) => sum + n, 0)).toBe(3);
    },
  );

  it('R7: that are held are skipped; what is skipped goes first in the next batch, and after two skips alone, waiting', async () => {
    const calls: string[] = [];
    const names = new Map<string, string>();
    const watched = (store: Store): Store => ({
      ...store,
      write: (batch: WriteBatch) => {
        calls.push(
          `write ${batch.runs
            .map(({ runId }) => names.get(runId))
            .sort()
            .join(' ')}`,
        );
        return store.write(batch);
      },
      withLockedRuns: (refs, work, options) => {
        calls.push(`lock ${refs.map(({ runId }) => names.get(runId)).join(' ')}`);
        return store.withLockedRuns(refs, work, options);
      },
    });
    const own = createPostgresStore({ url: fixture.url, poolSize: 4 });
    const options: Partial<EngineOptions> = { store: watched(own), limits: { batchEvents: 2 } };
    const { engine, close } = engineOn(fixture.url, options);
    try {
      const started = await Promise.all(
        Array.from({ length: 5 }, () => engine.start({ namespace: NAMESPACE, definitionId: 'single', input: '1' })),
      );
      const open = await openTasks(fixture);
      started.forEach(({ runId }, index) => names.set(runId, index === 0 ? 'held' : `free${index}`));
      await holdRun(started[0]!.runId);
      const order: string[] = [];
      const reports = started.map(({ runId }) =>
        engine.report(completedReport(runId, open.get(runId)![0]!)).then((answer) => {
          order.push(names.get(runId)!);
          return answer;
        }),
      );
      await Promise.all(reports.slice(1, 4));
      await waitingFor(fixture, 'run');
      expect(calls).toEqual(['write free1 held', 'write free2 held', 'write free3', 'lock held']);
      await holder.query('COMMIT');
      expect(await Promise.all(reports)).toEqual(started.map(() => 'APPLIED'));
      expect(order).toEqual(['free1', 'free2', 'free3', 'held', 'free4']);
    } finally {
      await close();
      await own.close();
    }
  });

  it('R7: that are held hold up nobody in a batch that locks first: the others commit, and the held one waits alone', async () => {
    const { engine, close } = engineOn(fixture.url);
    try {
      const started = await Promise.all(
        Array.from({ length: 8 }, () => engine.start({ namespace: NAMESPACE, definitionId: 'single', input: '1' })),
      );
      const held = started[3]!.runId;
      await holdRun(held);
      const cancels = started.map(({ runId }) =>
        engine.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' }).then(
          ({ status }) => status,
          (error: { code: string }) => error.code,
        ),
      );
      await Promise.all(cancels.filter((_cancel, index) => index !== 3));
      await waitingFor(fixture, 'run');
      await holder.query('COMMIT');
      expect(await Promise.all(cancels)).toEqual(started.map(() => 'CANCELLED'));
    } finally {
      await close();
    }
  });

  it.each([
    ['lock_timeout', { lockMs: 300 }, { kind: 'transient', sqlState: '55P03' }],
    ['statement_timeout', { statementMs: 300 }, { kind: 'unavailable', sqlState: '57014' }],
  ])(
    'R7: are waited for no longer than the %s of the engine, on every connection of the pool',
    async (_name, timeouts, failure) => {
      const runs = await startRuns(fixture.store, 3);
      const store = createPostgresStore({ url: fixture.url, poolSize: 4, timeouts });
      try {
        await holder.query('BEGIN');
        await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = ANY ($1::uuid[]) FOR NO KEY UPDATE', [
          runs.map(({ runId }) => runId),
        ]);
        const waits = await Promise.allSettled(
          runs.map(({ runId }) => store.withLockedRuns([refOf(runId)], async () => 'locked')),
        );
        expect(waits).toMatchObject(runs.map(() => ({ status: 'rejected', reason: failure })));
      } finally {
        await store.close();
      }
    },
  );

  it('R7: are let go of when the process stops in between: idle_in_transaction_session_timeout', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const store = createPostgresStore({ url: fixture.url, poolSize: 2, timeouts: { idleInTransactionMs: 2_000 } });
    try {
      let goOn: () => void = () => undefined;
      let frozen: Promise<unknown> = Promise.resolve();
      await new Promise<void>((isFrozen) => {
        const stop = async (session: LockedSession) => {
          const gate = new Promise<void>((resolve) => (goOn = resolve));
          isFrozen();
          await gate;
          return session.write({ batchId: randomUUID(), runs: [reportWrite(run!)] });
        };
        frozen = store.withLockedRuns([refOf(run!.runId)], stop).catch((error: unknown) => error);
      });
      // Waits for the frozen one; the server ends that one's session, not this one's.
      expect(await fixture.store.withLockedRuns([refOf(run!.runId)], async () => 'mine')).toBe('mine');
      goOn();
      expect(await frozen).toMatchObject({ kind: 'transient' });
      expect((await fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run!)] })).held.size).toBe(1);
    } finally {
      await store.close();
    }
  });

  it('R7: are never taken by a foreign key: there is none among the tables that hold runs', async () => {
    const found = await fixture.query<{ table: string }>(
      `SELECT c.relname AS table FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
       WHERE f.contype = 'f' AND f.connamespace = 'baton'::regnamespace`,
    );
    expect([...new Set(found.map(({ table }) => table))]).toEqual(['deployed_definitions']);
  });
});
