import { randomUUID } from 'node:crypto';
import { StoreError, type Store } from '@baton/engine';
import { eventually } from '@baton/testkit';
import { createPostgresStore } from './store.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { acquireCall, refOf, reportWrite, startRuns } from './testing/writes.js';

/** B116: connections die; the process, the pool and the runs do not. */
describe('connections that die', () => {
  let fixture: StoreFixture;
  let store: Store;
  const errors: Error[] = [];

  beforeAll(async () => {
    fixture = await storeFixture();
    store = createPostgresStore({
      url: fixture.url,
      poolSize: 3,
      applicationName: 'victim',
      onConnectionError: (error) => errors.push(error),
      timeouts: { statementMs: 20_000, lockMs: 1_000, idleInTransactionMs: 500 },
    });
  });
  afterAll(async () => {
    await store.close();
    await fixture.close();
  });

  /** Kills sessions of the store; those in the given state, or all. */
  const kill = async (state?: string): Promise<number> => {
    const killed = await fixture.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'victim' AND ($1::text IS NULL OR state = $1)`,
      [state ?? null],
    );
    return killed.length;
  };
  const versionOf = async (runId: string) => {
    const [row] = await fixture.query<{ version: string }>(
      'SELECT version FROM baton.workflow_runs WHERE run_id = $1',
      [runId],
    );
    return Number(row!.version);
  };
  const hundredQueries = async () => {
    for (let n = 0; n < 100; n += 1) await store.statuses([]);
  };
  const kindOf = (error: unknown) => (error instanceof StoreError ? error.kind : error);

  /** As the engine does: a kill can reach a connection after its answer, and then fails whoever has it next. */
  const askAgain = async <T>(ask: () => Promise<T>, tries = 5): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      if (tries <= 1 || kindOf(error) !== 'transient') throw error;
      return askAgain(ask, tries - 1);
    }
  };

  it('goes on after its idle connections were killed, and reports them', async () => {
    await Promise.all([store.statuses([]), store.statuses([]), store.statuses([])]);
    errors.length = 0;
    const killed = await kill('idle');
    expect(killed).toBeGreaterThan(0);
    await eventually(async () => errors.length >= killed, { what: 'the errors of idle connections' });
    await hundredQueries();
  });

  it('keeps nothing of a transaction that was killed after the row lock, calls it transient, and repeats it', async () => {
    const [run] = await startRuns(store, 1);
    const report = (killInside: boolean) =>
      store.withLockedRuns([refOf(run!.runId)], async (session) => {
        if (killInside) expect(await kill('idle in transaction')).toBe(1);
        return session.write({ batchId: randomUUID(), runs: [reportWrite(run!)] });
      });
    expect(kindOf(await report(true).catch((error: unknown) => error))).toBe('transient');
    expect(await versionOf(run!.runId)).toBe(1);
    expect((await report(false)).held.size).toBe(1);
    expect(await versionOf(run!.runId)).toBe(2);
    await hundredQueries();
  });

  it('keeps nothing of a transaction that was killed after its write, and says that of its COMMIT too (R6)', async () => {
    const [run] = await startRuns(store, 1);
    const batchId = randomUUID();
    const lost = store.withLockedRuns([refOf(run!.runId)], async (session) => {
      await session.write({ batchId, runs: [reportWrite(run!)] });
      await kill('idle in transaction');
      // The connection is dead by the time of COMMIT; whether it took place is asked, not guessed.
      await eventually(
        async () => (await fixture.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'idle in transaction'`)).length === 0,
        { what: 'the backend to be gone' },
      ); // prettier-ignore
    });
    expect(['unknown-commit', 'transient']).toContain(kindOf(await lost.catch((error: unknown) => error)));
    expect((await store.committedRuns(batchId, [refOf(run!.runId)])).size).toBe(0);
    expect(await versionOf(run!.runId)).toBe(1);
    await hundredQueries();
  });

  it('rolls back when the work rejects, and gives the connection back clean', async () => {
    const [run] = await startRuns(store, 1);
    const refused = store.withLockedRuns([refOf(run!.runId)], async (session) => {
      await session.write({ batchId: randomUUID(), runs: [reportWrite(run!)] });
      throw new Error('refused');
    });
    await expect(refused).rejects.toThrow('refused');
    expect(await versionOf(run!.runId)).toBe(1);
    await hundredQueries();
  });

  it('never calls a transaction committed whose statement failed and was swallowed', async () => {
    const [run] = await startRuns(store, 1);
    const swallowed = store.withLockedRuns([refOf(run!.runId)], async (session) => {
      await session.write({ batchId: randomUUID(), runs: [reportWrite(run!)] });
      await session.readNeeds([{ ...refOf(run!.runId), needs: { signals: ['a\u0000'] } }]).catch(() => undefined);
    });
    expect(kindOf(await swallowed.catch((error: unknown) => error))).toBe('transient');
    expect(await versionOf(run!.runId)).toBe(1);
  });

  it('lets go of its locks when its work stops for too long, and says so (R7)', async () => {
    const [run] = await startRuns(store, 1);
    const stopped = store.withLockedRuns([refOf(run!.runId)], async (session) => {
      await eventually(
        async () => (await fixture.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'idle in transaction'`)).length === 0,
        { what: 'the server to end the idle transaction' },
      ); // prettier-ignore
      return session.write({ batchId: randomUUID(), runs: [reportWrite(run!)] });
    });
    expect(kindOf(await stopped.catch((error: unknown) => error))).toBe('transient');
    expect(await versionOf(run!.runId)).toBe(1);
  });

  it('gives up waiting for a lock, as something to try again', async () => {
    const [run] = await startRuns(store, 1);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR NO KEY UPDATE', [run!.runId]);
    const waiting = store.withLockedRuns([refOf(run!.runId)], async () => undefined);
    await expect(waiting).rejects.toMatchObject({ kind: 'transient', sqlState: '55P03' });
    await holder.query('ROLLBACK');
  });

  it('finds out by the batch id whether a write whose answer was lost took place (R6)', async () => {
    const runs = await startRuns(store, 20);
    const holder = await fixture.connect();
    for (const run of runs) {
      // The write waits for the task row, so that it is under way when its backend is killed or let go.
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM baton.task_instances WHERE task_id = $1 FOR NO KEY UPDATE', [run.task.taskId]);
      const batchId = randomUUID();
      const write = store.write({ batchId, runs: [reportWrite(run)] }).then(
        () => 'answered',
        (error: unknown) => kindOf(error),
      );
      await eventually(
        async () => (await fixture.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type = 'Lock'`)).length > 0,
        { what: 'the write to be under way' },
      ); // prettier-ignore
      await Promise.all([holder.query('COMMIT'), kill('active')]);
      const answer = await write;
      const committed = await askAgain(() => store.committedRuns(batchId, [refOf(run.runId)]));
      expect(await versionOf(run.runId)).toBe(committed.size === 1 ? 2 : 1);
      if (answer === 'answered') expect(committed.size).toBe(1);
      else if (answer === 'transient') expect(committed.size).toBe(0);
      else expect(answer).toBe('unknown-commit');
    }
    await hundredQueries();
  }, 60_000);

  it('commits while every question of people waits for a lock', async () => {
    const [run] = await startRuns(store, 1);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE baton.run_journal_default IN ACCESS EXCLUSIVE MODE');
    const questions = Array.from({ length: 10 }, () => store.history('default', run!.runId, 0, 10).catch(() => []));
    expect((await store.statuses([refOf(run!.runId)])).get(run!.runId)).toBe('RUNNING');
    expect(await store.acquire([acquireCall(run!)])).toMatchObject([{ status: 'GRANTED' }]);
    await holder.query('ROLLBACK');
    await Promise.all(questions);
  });

  it('calls a server that cannot be reached unavailable', async () => {
    const nowhere = createPostgresStore({ url: 'postgres://baton@127.0.0.1:1/baton' });
    await expect(nowhere.readRuns([])).rejects.toMatchObject({ name: 'StoreError', kind: 'unavailable' });
    await nowhere.close();
  });
});
