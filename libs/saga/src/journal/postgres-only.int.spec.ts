import { randomUUID } from 'node:crypto';
import { v7 } from 'uuid';
import type { EngineApi } from '@baton/engine';
import { SagaRegistry } from '../definition/registry.js';
import { sagaEventNames } from '../events/event-names.js';
import { openSagaEngine } from '../storage/open-engine.js';
import { NEEDED_COLUMNS, TABLES_OF_THE_PLATFORM } from '../storage/needed-columns.js';
import { suiteSagas } from '../testing/journal-sagas.js';
import { done, eventsOf, LEASE_MS, newInstance, only, ONE } from '../testing/journal-world.js';
import { postgresUnderTest, type PostgresUnderTest } from '../testing/postgres-under-test.js';
import { createJournal, type SagaJournal } from './journal.js';

let under: PostgresUnderTest;
let namespace: string;
let count = 0;
const engines: EngineApi[] = [];

beforeAll(async () => {
  under = await postgresUnderTest();
});

beforeEach(async () => {
  namespace = `test-${(count += 1)}`;
  await under.store.definitions.publish(namespace, suiteSagas);
});

afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await under.close();
});

function openJournal(owner = randomUUID()): SagaJournal {
  const engine = openSagaEngine(under.store, { events: sagaEventNames() });
  engines.push(engine);
  const resolver = new SagaRegistry(suiteSagas);
  return createJournal({ store: under.store, engine, resolver, namespace, owner, newId: v7 });
}

const countOf = async (table: string): Promise<number> =>
  Number((await under.query(`SELECT count(*) AS n FROM baton.${table}`))[0]?.['n']);

const TABLES = ['workflow_runs', 'run_payloads', 'task_instances', 'run_journal', 'outbox', 'run_keys', 'timers'];
async function counts(): Promise<readonly number[]> {
  const all: number[] = [];
  for (const table of TABLES) all.push(await countOf(table));
  return all;
}

describe('claims of many processes', () => {
  it('P2: 8 workers x 5 over 30 runs: each is claimed exactly once, none is lost', async () => {
    const first = openJournal();
    for (let count = 0; count < 30; count += 1) await first.enqueue(newInstance('one'));
    const workers = Array.from({ length: 8 }, () => openJournal());
    const taken: string[] = [];
    // What one claim finds locked it leaves: a few rounds, as in a runtime.
    for (let round = 0; taken.length < 30 && round < 20; round += 1) {
      const claims = await Promise.all(workers.map((worker) => worker.claimPending({ limit: 5, leaseMs: LEASE_MS })));
      taken.push(...claims.flat().map(({ runId }) => runId));
    }
    expect(taken).toHaveLength(30);
    expect(new Set(taken).size).toBe(30);
  });
});

describe('a transaction of the caller', () => {
  it('P3: rolled back, a run that was started in it never was: no row, no key, no event', async () => {
    const journal = openJournal();
    const before = await counts();
    const client = await under.connect();
    await client.query('BEGIN');
    const { runId, created } = await journal.enqueueWithin(client, { ...newInstance('undoable'), idempotencyKey: 'k' });
    expect(created).toBe(true);
    await client.query('ROLLBACK');
    expect(await counts()).toEqual(before);
    await expect(journal.load(runId)).rejects.toMatchObject({ kind: 'not-found' });
    expect(await journal.claimPending(ONE)).toEqual([]);
    expect(await journal.loadSince(null, 10)).toEqual([]);
  });

  it('P3: committed, it is there and can be claimed; before, nobody sees it', async () => {
    const journal = openJournal();
    const client = await under.connect();
    await client.query('BEGIN');
    const { runId } = await journal.enqueueWithin(client, newInstance('one'));
    expect(await journal.claimPending(ONE)).toEqual([]);
    await client.query('COMMIT');
    expect(only(await journal.claimPending(ONE)).runId).toBe(runId);
  });
});

describe('an append', () => {
  it('P4: is one commit: entries, events, tasks and the version of the run are of one transaction', async () => {
    const journal = openJournal();
    const { runId, claimed } = await journal.enqueue(newInstance('line'), { max: 1, leaseMs: LEASE_MS });
    const version = async () =>
      Number((await under.query('SELECT version FROM baton.workflow_runs WHERE run_id = $1', [runId]))[0]?.['version']);
    const before = await version();
    await journal.append(only(claimed), done(), { max: 1, leaseMs: LEASE_MS });
    expect(await version()).toBe(before + 1);
    const rows = await under.query(
      `SELECT 'run' AS what, xmin::text AS xid FROM baton.workflow_runs WHERE run_id = $1
       UNION ALL SELECT 'task', xmin::text FROM baton.task_instances WHERE run_id = $1
       UNION ALL SELECT 'entry', xmin::text FROM baton.run_journal WHERE run_id = $1 AND kind = 'node.succeeded'
       UNION ALL SELECT 'event', xmin::text FROM baton.outbox WHERE run_id = $1 AND type LIKE '%step_completed'`,
      [runId],
    );
    expect(new Set(rows.map(({ what }) => what))).toEqual(new Set(['run', 'task', 'entry', 'event']));
    expect(new Set(rows.map(({ xid }) => xid)).size).toBe(1);
  });

  it('P4: that the database refuses half-way leaves nothing', async () => {
    const journal = openJournal();
    const { runId, claimed } = await journal.enqueue(newInstance('line'), { max: 1, leaseMs: LEASE_MS });
    const before = [await journal.load(runId), await counts()];
    await under.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$`);
    await under.query(`CREATE TRIGGER refuse BEFORE INSERT ON baton.outbox FOR EACH ROW EXECUTE FUNCTION refuse()`);
    await expect(journal.append(only(claimed), done())).rejects.toMatchObject({ kind: 'unavailable' });
    expect([await journal.load(runId), await counts()]).toEqual(before);
    await under.query('DROP TRIGGER refuse ON baton.outbox');
    expect(await journal.append(only(claimed), done())).toMatchObject({ applied: true });
  });
});

describe('the probe', () => {
  it.each(Object.keys(NEEDED_COLUMNS))('P5: fails when the table %s is gone', async (table) => {
    const journal = openJournal();
    await journal.repoReady();
    await under.query(`ALTER TABLE baton.${table} RENAME TO gone`);
    await expect(journal.repoReady()).rejects.toMatchObject({ kind: 'internal', code: 'SCHEMA_DRIFT' });
    await under.query(`ALTER TABLE baton.gone RENAME TO ${table}`);
    await journal.repoReady();
  });

  it.each([
    ['task_instances', 'lease_expires_at'],
    ['run_journal', 'code'],
    ['outbox', 'xid'],
  ])('P5: fails when %s has no %s any more', async (table, column) => {
    const journal = openJournal();
    await under.query(`ALTER TABLE baton.${table} RENAME COLUMN ${column} TO gone`);
    await expect(journal.repoReady()).rejects.toMatchObject({ kind: 'internal', code: 'SCHEMA_DRIFT' });
    await under.query(`ALTER TABLE baton.${table} RENAME COLUMN gone TO ${column}`);
  });

  it('P5: names every column that the migrations make', async () => {
    const rows = await under.query(
      `SELECT c.relname AS table, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       WHERE c.relnamespace = 'baton'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND a.attnum > 0 AND NOT a.attisdropped AND c.relname NOT LIKE '%\\_migrations'`,
    );
    const made = rows.filter((row) => !TABLES_OF_THE_PLATFORM.includes(String(row['table'])));
    const named = Object.entries(NEEDED_COLUMNS).flatMap(([table, columns]) => columns.map((c) => `${table}.${c}`));
    expect([...named].sort()).toEqual(made.map((row) => `${String(row['table'])}.${String(row['column'])}`).sort());
  });
});

describe('the schema', () => {
  it('P6: (no foreign keys among hot tables, no position over all runs: partitions) has its keys, lease columns and indexes', async () => {
    const keys = await under.query(
      `SELECT k.relname AS table, pg_get_constraintdef(c.oid) AS key FROM pg_constraint c
       JOIN pg_class k ON k.oid = c.conrelid WHERE c.contype = 'p' AND k.relnamespace = 'baton'::regnamespace
         AND k.relname IN ('workflow_runs', 'task_instances', 'run_journal')`,
    );
    expect(Object.fromEntries(keys.map(({ table, key }) => [table, key]))).toEqual({
      workflow_runs: 'PRIMARY KEY (run_id)',
      task_instances: 'PRIMARY KEY (run_id, task_id)',
      run_journal: 'PRIMARY KEY (run_id, seq)',
    });
    const indexes = await under.query(
      `SELECT indexname AS name, indexdef AS def FROM pg_indexes WHERE schemaname = 'baton'
       AND indexname IN ('task_instances_claim', 'outbox_order')`,
    );
    expect(Object.fromEntries(indexes.map(({ name, def }) => [name, def]))).toEqual({
      task_instances_claim: expect.stringContaining('lease_id IS NULL') as string,
      outbox_order: expect.stringMatching(/\(xid, seq\)$/) as string,
    });
  });

  it('P6: refuses a status that is none and a needed column without a value', async () => {
    const journal = openJournal();
    const { runId } = await journal.enqueue(newInstance('one'));
    const broken = [`status = 'WHATEVER'`, 'status = NULL', 'version = NULL', 'journal_seq = NULL'];
    for (const change of broken) {
      await expect(
        under.query(`UPDATE baton.workflow_runs SET ${change} WHERE run_id = $1`, [runId]),
      ).rejects.toThrow();
    }
  });
});

describe('two transactions that commit in the other order', () => {
  it('P7: (the second does not wait: W16) a reader sees neither late nor out of order, and misses nothing', async () => {
    const journal = openJournal();
    const client = await under.connect();
    await client.query('BEGIN');
    const first = await journal.enqueueWithin(client, newInstance('one'));
    // It does not wait for the transaction that began before.
    const second = await journal.enqueue(newInstance('one'));
    expect(await journal.loadSince(null, 10)).toEqual([]);
    await client.query('COMMIT');
    const events = await eventsOf(journal, 2);
    expect(events.map(({ runId }) => runId)).toEqual([first.runId, second.runId]);
    expect(await journal.loadSince(events[0]?.cursor ?? null, 10)).toMatchObject([{ runId: second.runId }]);
  });
});
