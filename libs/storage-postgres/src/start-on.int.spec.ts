import { randomUUID } from 'node:crypto';
import type { RunStartWrite } from '@baton/engine';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { writeStartOn, type SqlExecutor } from './start-on.js';
import { waitingFor } from './testing/locks.js';
import { rowsOf } from './testing/rows-of.js';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { dispatchedTask, journalRow, newRunId, outboxRow, startWrite, taskState } from './testing/writes.js';

/** A transaction of the caller's, and how it ends. */
interface CallersTransaction {
  readonly executor: SqlExecutor;
  end(how: 'COMMIT' | 'ROLLBACK'): Promise<void>;
}

describe.each(MAJORS)("a start on the caller's transaction on PostgreSQL %i", (major) => {
  let fixture: StoreFixture;
  let source: DataSource;

  beforeAll(async () => {
    fixture = await storeFixture(major, { library: true });
    source = await new DataSource({ type: 'postgres', url: fixture.url, installExtensions: false }).initialize();
    await fixture.query('CREATE TABLE orders (id uuid PRIMARY KEY)');
  });
  afterAll(async () => {
    await source.destroy();
    await fixture.close();
  });

  const ways: readonly (readonly [string, () => Promise<CallersTransaction>])[] = [
    [
      'a client of pg',
      async () => {
        const client = new Client({ connectionString: fixture.url });
        await client.connect();
        await client.query('BEGIN');
        return {
          executor: client,
          async end(how) {
            await client.query(how);
            await client.end();
          },
        };
      },
    ],
    ['a QueryRunner of TypeORM', () => inTypeOrm((runner) => runner)],
    ['an EntityManager of TypeORM', () => inTypeOrm((runner) => runner.manager)],
  ];

  const inTypeOrm = async (
    executorOf: (runner: ReturnType<DataSource['createQueryRunner']>) => SqlExecutor,
  ): Promise<CallersTransaction> => {
    const runner = source.createQueryRunner();
    await runner.startTransaction();
    return {
      executor: executorOf(runner),
      async end(how) {
        await (how === 'COMMIT' ? runner.commitTransaction() : runner.rollbackTransaction());
        await runner.release();
      },
    };
  };

  const wholeStart = (over: Partial<RunStartWrite> = {}): RunStartWrite =>
    startWrite(
      newRunId(),
      { route: 'local', input: `{"text":"it's \\"quoted\\" \\\\ {a,b} é"}`, ...over },
      {
        tasks: [dispatchedTask(taskState())],
        journal: [journalRow(1, { kind: 'run.started' })],
        outbox: [outboxRow(1)],
        timers: [
          {
            timerId: newRunId(),
            kind: 'run-deadline',
            nodeId: null,
            generation: 1,
            afterMs: 60_000,
            from: 'run-start',
          },
        ],
      },
    );
  const order = (executor: SqlExecutor) =>
    executor.query('INSERT INTO orders (id) VALUES ($1) RETURNING id', [randomUUID()]);
  const rows = (start: RunStartWrite) => rowsOf(fixture, [start.write.runId]);

  describe.each(ways)('%s', (_what, open) => {
    it('O4: rolled back, the run never existed: no row anywhere, and no event', async () => {
      const start = wholeStart({ idempotencyKey: randomUUID() });
      const { executor, end } = await open();
      await order(executor);
      expect((await writeStartOn(executor, randomUUID(), start)).created).toEqual(new Set([start.write.runId]));
      expect(await rows(start)).toEqual([]);
      await end('ROLLBACK');
      expect(await rows(start)).toEqual([]);
      expect(await fixture.query('SELECT 1 FROM orders')).toEqual([]);
    });

    it('O4: committed, it is there with all its rows, as the store itself would have written them', async () => {
      const start = wholeStart({ idempotencyKey: randomUUID() });
      const { executor, end } = await open();
      await writeStartOn(executor, randomUUID(), start);
      await order(executor);
      await end('COMMIT');
      const other = wholeStart({ idempotencyKey: randomUUID() });
      await fixture.store.writeStarts({ batchId: randomUUID(), starts: [other] });
      const tables = (found: readonly string[]) => found.map((row) => row.split(' ')[0]);
      expect(tables(await rows(start))).toEqual(tables(await rows(other)));
      const [stored] = await fixture.query<{ input: string }>(
        'SELECT input FROM baton.run_payloads WHERE run_id = $1',
        [start.write.runId],
      );
      expect(stored?.input).toBe(start.input);
      expect(await fixture.query('DELETE FROM orders RETURNING 1')).toHaveLength(1);
    });

    it('a taken key answers with the run that has it, and the transaction goes on', async () => {
      const idempotencyKey = randomUUID();
      const first = wholeStart({ idempotencyKey });
      await fixture.store.writeStarts({ batchId: randomUUID(), starts: [first] });
      const second = wholeStart({ idempotencyKey });
      const { executor, end } = await open();
      const { created, existing } = await writeStartOn(executor, randomUUID(), second);
      expect(created).toEqual(new Set());
      expect(existing.get(second.write.runId)).toMatchObject({
        reason: 'idempotency-key',
        runId: first.write.runId,
        requestHash: 'request',
        status: 'RUNNING',
      });
      await order(executor);
      await end('COMMIT');
      expect(await fixture.query('DELETE FROM orders RETURNING 1')).toHaveLength(1);
      expect(await rows(second)).toEqual([]);
    });

    it('all keys are won together, or none of them', async () => {
      const businessKey = randomUUID();
      const holder = wholeStart({ businessKey });
      await fixture.store.writeStarts({ batchId: randomUUID(), starts: [holder] });
      const { executor, end } = await open();
      const refused = wholeStart({ businessKey, idempotencyKey: randomUUID() });
      const won = wholeStart({ businessKey: randomUUID(), idempotencyKey: randomUUID(), clientRunId: true });
      const answer = await writeStartOn(executor, randomUUID(), refused);
      expect(answer.existing.get(refused.write.runId)).toMatchObject({ reason: 'business-key' });
      expect((await writeStartOn(executor, randomUUID(), won)).created.size).toBe(1);
      const twice = { ...wholeStart(), idempotencyKey: won.idempotencyKey };
      const again = await writeStartOn(executor, randomUUID(), twice);
      expect(again.existing.get(twice.write.runId)?.runId).toBe(won.write.runId);
      await end('COMMIT');
      expect(await rows(refused)).toEqual([]);
      const keys = (await rows(won)).filter((row) => row.startsWith('run_keys'));
      expect(keys).toHaveLength(3);
    });
  });

  it('refuses keys that need several statements where there is no transaction, and writes nothing', async () => {
    const client = await fixture.connect();
    const start = wholeStart({ idempotencyKey: randomUUID(), businessKey: randomUUID() });
    await expect(writeStartOn(client, randomUUID(), start)).rejects.toMatchObject({ sqlState: '25P01' });
    expect(await rows(start)).toEqual([]);
  });

  it('waits for another transaction that starts with the same key, and then hears of its run', async () => {
    const idempotencyKey = randomUUID();
    const one = await fixture.connect();
    const two = await fixture.connect();
    await one.query('BEGIN');
    await two.query('BEGIN');
    const first = wholeStart({ idempotencyKey });
    const second = wholeStart({ idempotencyKey });
    await writeStartOn(one, randomUUID(), first);
    const waiting = writeStartOn(two, randomUUID(), second);
    await waitingFor(fixture, 'key');
    await one.query('COMMIT');
    expect((await waiting).existing.get(second.write.runId)?.runId).toBe(first.write.runId);
    await two.query('COMMIT');
    expect(await rows(second)).toEqual([]);
  });

  it('takes the key over when that transaction rolls back', async () => {
    const idempotencyKey = randomUUID();
    const one = await fixture.connect();
    const two = await fixture.connect();
    await one.query('BEGIN');
    await two.query('BEGIN');
    await writeStartOn(one, randomUUID(), wholeStart({ idempotencyKey }));
    const second = wholeStart({ idempotencyKey });
    const waiting = writeStartOn(two, randomUUID(), second);
    await waitingFor(fixture, 'key');
    await one.query('ROLLBACK');
    expect((await waiting).created).toEqual(new Set([second.write.runId]));
    await two.query('COMMIT');
    expect((await rows(second)).length).toBeGreaterThan(4);
  });

  it('says so when an executor answers something else than rows', async () => {
    const odd: SqlExecutor = { query: () => Promise.resolve('rows') };
    await expect(writeStartOn(odd, randomUUID(), wholeStart())).rejects.toMatchObject({
      message: expect.stringContaining('neither rows nor an object with rows'),
    });
  });
});
