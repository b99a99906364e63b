import { randomUUID } from 'node:crypto';
import { describeStore, diamond, single } from '@baton/engine/testing';
import { checkSchemaVersion, migrate } from '@baton/migrations';
import { createDatabase, startTransactionPooler, type TestDatabase, type TransactionPooler } from '@baton/testkit';
import { Client } from 'pg';
import { Database } from './pool.js';
import { createTimerStore } from './timer-store.js';
import { engineOn, publish } from './testing/engine-on-postgres.js';
import { waitingFor } from './testing/locks.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { STORY, Storyteller, tell } from './testing/stories.js';
import { newRunId, startRuns, startWrite } from './testing/writes.js';

const POOLED = { pooler: 'transaction' } as const;

describeStore('PostgreSQL through a pooler in transaction mode', async () => {
  let pooler: TransactionPooler | undefined;
  const fixture = await storeFixture(18, {
    library: true,
    pool: POOLED,
    through: async (url) => (pooler = await startTransactionPooler({ url, sessions: 4 })).url,
  });
  let moved = 0;
  return {
    store: fixture.store,
    newId: newRunId,
    advance: async (ms) => {
      moved += ms;
      await fixture.moveClock(`${moved} milliseconds`);
    },
    outbox: async (runId) => {
      const rows = await fixture.query<{ run_seq: string; payload: string }>(
        'SELECT run_seq, payload FROM baton.outbox WHERE run_id = $1 ORDER BY run_seq',
        [runId],
      );
      return rows.map((row) => ({ runSeq: Number(row.run_seq), payload: row.payload }));
    },
    async close() {
      await pooler?.close();
      await fixture.close();
    },
  };
});

describe('a pooler in transaction mode', () => {
  let fixture: StoreFixture;
  let pooler: TransactionPooler;

  beforeAll(async () => {
    fixture = await storeFixture(18, { library: true });
    pooler = await startTransactionPooler({ url: fixture.url, sessions: 4 });
  });
  afterAll(async () => {
    await pooler.close();
    await fixture.close();
  });

  it('breaks a store that takes it for a connection of its own, so that these tests can tell', async () => {
    const own = await startTransactionPooler({ url: fixture.url });
    const direct = new Database({ url: own.url, poolSize: 1 });
    const ask = async () => {
      for (let turn = 0; turn < 6; turn += 1)
        await direct.runRepeatable('deployed-version', { namespace: 'n', id: 'x' });
    };
    await expect(ask()).rejects.toMatchObject({ sqlState: expect.stringMatching(/^(26000|42P05)$/) });
    await direct.close();
    await own.close();
  });

  it('R7: gets the timeouts with the BEGIN of each transaction, and no session keeps them', async () => {
    const db = new Database({ url: pooler.url, poolSize: 1, ...POOLED, timeouts: { lockMs: 300, statementMs: 4_321 } });
    const plain = new Client({ connectionString: pooler.url });
    await plain.connect();
    const [run] = await startRuns(fixture.store, 1);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [run!.runId]);
    const refs = { runs: { runId: [run!.runId], namespace: ['default'] } };
    for (let turn = 0; turn < 4; turn += 1) {
      const waiting = db.transaction((session) => session.run('lock-runs', refs));
      await expect(waiting).rejects.toMatchObject({ kind: 'transient', sqlState: '55P03' });
      const { rows } = await plain.query(
        `SELECT current_setting('statement_timeout') AS t, current_setting('enable_seqscan') AS s`,
      );
      expect(rows).toEqual([{ t: '0', s: 'on' }]);
    }
    await holder.query('ROLLBACK');
    await plain.end();
    await db.close();
  });

  it('R7: bounds the wait of a start for another with the same key', async () => {
    const { store, close } = engineOn(pooler.url, {}, undefined, { ...POOLED, timeouts: { lockMs: 300 } });
    const idempotencyKey = randomUUID();
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query(
      `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
       VALUES ('default', 'idempotency', $1, gen_random_uuid(), 'h', now())`,
      [idempotencyKey],
    );
    const starts = [startWrite(newRunId(), { idempotencyKey })];
    const waiting = store.writeStarts({ batchId: randomUUID(), starts });
    const refused = expect(waiting).rejects.toMatchObject({ kind: 'transient', sqlState: '55P03' });
    await waitingFor(fixture, 'key');
    await refused;
    await holder.query('ROLLBACK');
    await close();
  });

  it('tells the whole story of the engine as a direct connection does', async () => {
    await publish(fixture, diamond);
    await publish(fixture, single);
    const direct = engineOn(fixture.url);
    const pooled = engineOn(pooler.url, {}, undefined, POOLED);
    const one = new Storyteller('direct', direct.engine, fixture);
    const two = new Storyteller('pooled', pooled.engine, fixture);
    const before = pooler.transactions;
    for (const step of STORY) expect(await tell(two, step)).toEqual(await tell(one, step));
    const withoutCommits = (rows: unknown) => JSON.stringify(rows).replace(/"last_commit":"[^"]*"/g, '');
    expect(withoutCommits(await two.rows())).toBe(withoutCommits(await one.rows()));
    expect(pooler.transactions - before).toBeGreaterThan(STORY.length);
    await direct.close();
    await pooled.close();
  });

  it('lets the schema be made, and the roles of the timer service be held', async () => {
    const database: TestDatabase = await createDatabase({ migrated: false });
    const own = await startTransactionPooler({ url: database.url });
    const { applied } = await migrate({ url: own.url, publication: false, library: true });
    expect(applied.length).toBeGreaterThan(1);
    const client = new Client({ connectionString: own.url });
    await client.connect();
    expect(await checkSchemaVersion(client, { library: true })).toMatchObject({ state: 'ok' });
    await client.end();
    const timers = createTimerStore({ url: own.url, ...POOLED });
    await timers.ensurePartitions();
    expect(await timers.takeServiceLease('timer', 'a', 10_000)).toEqual({ epoch: 1 });
    expect(await timers.takeServiceLease('timer', 'b', 10_000)).toBeUndefined();
    expect(await timers.readDue(10)).toEqual({ items: [], lateMs: [], nextDueInMs: null });
    await timers.close();
    await own.close();
    await database.drop();
  });
});
