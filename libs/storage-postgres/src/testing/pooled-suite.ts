import { randomUUID } from 'node:crypto';
import { describeStore, diamond, single } from '@baton/engine/testing';
import { checkSchemaVersion, migrate } from '@baton/migrations';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { Database } from '../pool.js';
import { createTimerStore } from '../timer-store.js';
import { engineOn, publish } from './engine-on-postgres.js';
import { liveOn } from './life.js';
import { waitingFor } from './locks.js';
import { storeFixture, type StoreFixture } from './store-fixture.js';
import { STORY, Storyteller, tell } from './stories.js';
import { newRunId, startRuns, startWrite } from './writes.js';

export const POOLED = { pooler: 'transaction' } as const;

export interface Pooler {
  readonly url: string;
  close(): Promise<void>;
}

/** What holds through every pooler in transaction mode. */
export function describePooled(name: string, open: (url: string) => Promise<Pooler>): void {
  describeStore(`PostgreSQL through ${name}`, async () => {
    let pooler: Pooler | undefined;
    const through = async (url: string) => (pooler = await open(url)).url;
    const fixture = await storeFixture(18, { library: true, pool: POOLED, through });
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

  describe(name, () => {
    let fixture: StoreFixture;
    let pooler: Pooler;

    beforeAll(async () => {
      fixture = await storeFixture(18, { library: true });
      pooler = await open(fixture.url);
    });
    afterAll(async () => {
      await pooler.close();
      await fixture.close();
    });

    describeTimeouts(
      () => fixture,
      () => pooler,
    );

    it('tells the whole story of the engine as a direct connection does', async () => {
      for (const definition of [diamond, single]) await publish(fixture, definition);
      const direct = engineOn(fixture.url);
      const pooled = engineOn(pooler.url, {}, undefined, POOLED);
      const one = new Storyteller('direct', direct.engine, fixture);
      const two = new Storyteller('pooled', pooled.engine, fixture);
      for (const step of STORY) expect(await tell(two, step)).toEqual(await tell(one, step));
      const withoutCommits = (rows: unknown) => JSON.stringify(rows).replace(/"last_commit":"[^"]*"/g, '');
      expect(withoutCommits(await two.rows())).toBe(withoutCommits(await one.rows()));
      await direct.close();
      await pooled.close();
    });
  });

  it(`${name}: lets the schema be made, the role of a timer service be held, and a whole life be lived`, async () => {
    const database: TestDatabase = await createDatabase({ migrated: false });
    const pooler = await open(database.url);
    await migrate({ url: pooler.url, publication: false, library: true });
    const client = new Client({ connectionString: pooler.url });
    await client.connect();
    expect(await checkSchemaVersion(client, { library: true })).toMatchObject({ state: 'ok' });
    await client.end();
    const timers = createTimerStore({ url: pooler.url, ...POOLED });
    await timers.ensurePartitions();
    expect(await timers.takeServiceLease('timer', 'a', 10_000)).toEqual({ epoch: 1 });
    expect(await timers.takeServiceLease('timer', 'b', 10_000)).toBeUndefined();
    await timers.close();
    expect(await liveOn(pooler.url, POOLED)).toMatchObject({
      statuses: ['SUCCEEDED', 'COMPENSATED'],
      eventsInOrder: true,
    });
    await pooler.close();
    await database.drop();
  });
}

function describeTimeouts(fixtureOf: () => StoreFixture, poolerOf: () => Pooler): void {
  it('R7: gets the timeouts with the BEGIN of each transaction, and no session keeps them', async () => {
    const { url } = poolerOf();
    const db = new Database({ url, poolSize: 1, ...POOLED, timeouts: { lockMs: 300, statementMs: 4_321 } });
    const plain = new Client({ connectionString: url });
    await plain.connect();
    const [run] = await startRuns(fixtureOf().store, 1);
    const holder = await fixtureOf().connect();
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
    const { store, close } = engineOn(poolerOf().url, {}, undefined, { ...POOLED, timeouts: { lockMs: 300 } });
    const idempotencyKey = randomUUID();
    const holder = await fixtureOf().connect();
    await holder.query('BEGIN');
    await holder.query(
      `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
       VALUES ('default', 'idempotency', $1, gen_random_uuid(), 'h', now())`,
      [idempotencyKey],
    );
    const waiting = store.writeStarts({ batchId: randomUUID(), starts: [startWrite(newRunId(), { idempotencyKey })] });
    const refused = expect(waiting).rejects.toMatchObject({ kind: 'transient', sqlState: '55P03' });
    await waitingFor(fixtureOf(), 'key');
    await refused;
    await holder.query('ROLLBACK');
    await close();
  });
}
