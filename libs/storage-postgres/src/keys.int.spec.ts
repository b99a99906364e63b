import { randomUUID } from 'node:crypto';
import { single } from '@baton/engine/testing';
import type { RunStartWrite } from '@baton/engine';
import { eventually } from '@baton/testkit';
import type { Client } from 'pg';
import { engineOn, failedReport, openTasks, publish } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId, RUNNING, runWrite, startWrite } from './testing/writes.js';
import { createTimerStore, type TimerStore } from './timer-store.js';

describe('keys of runs, with another connection in between', () => {
  let fixture: StoreFixture;
  let gate: Client;
  let third: Client;
  let timers: TimerStore;

  beforeAll(async () => {
    fixture = await storeFixture();
    await publish(fixture, single);
    [gate, third] = [await fixture.connect(), await fixture.connect()];
    await third.query(`SET lock_timeout = '500ms'`);
    timers = createTimerStore({ url: fixture.url });
  });
  afterAll(async () => {
    await timers.close();
    await fixture.close();
  });
  afterEach(async () => {
    await gate.query('ROLLBACK');
    await third.query('ROLLBACK');
  });

  const start = (...starts: RunStartWrite[]) => fixture.store.writeStarts({ batchId: randomUUID(), starts });

  const insertKey = (client: Client, kind: string, key: string, expires: string | null = null) =>
    client.query(
      `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at, expires_at)
       VALUES ($1, $2, $3, $4, 'of the gate', baton.now(), baton.now() + $5::interval)`,
      [NAMESPACE, kind, key, newRunId(), expires],
    );

  const keyRow = async (key: string) =>
    (
      await fixture.query<{ run_id: string; xmin: string }>(
        'SELECT run_id, xmin::text FROM baton.run_keys WHERE key = $1',
        [key],
      )
    )[0]!;

  async function blocked(): Promise<void> {
    const someoneWaits = async () => {
      const rows = await fixture.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'baton'
           AND wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    };
    await eventually(someoneWaits, { what: 'the start or retry to wait at the gate' });
  }

  it('R24: a batch of starts takes its keys in sorted order: what sorts later is free while it waits', async () => {
    const [a, b] = [`a-${randomUUID()}`, `b-${randomUUID()}`];
    const sooner = startWrite(newRunId(1), { idempotencyKey: b });
    const later = startWrite(newRunId(2), { idempotencyKey: a });
    await gate.query('BEGIN');
    await insertKey(gate, 'idempotency', a);
    const writing = start(sooner, later);
    await blocked();
    await third.query('BEGIN');
    await insertKey(third, 'idempotency', b);
    await third.query('ROLLBACK');
    await gate.query('ROLLBACK');
    expect((await writing).created.size).toBe(2);
  });

  it('R24: so does one start with several keys', async () => {
    const [businessKey, idempotencyKey] = [randomUUID(), randomUUID()];
    await gate.query('BEGIN');
    await insertKey(gate, 'business:order', businessKey);
    const writing = start(startWrite(newRunId(), { businessKey, idempotencyKey }));
    await blocked();
    await third.query('BEGIN');
    await insertKey(third, 'idempotency', idempotencyKey);
    await third.query('ROLLBACK');
    await gate.query('ROLLBACK');
    expect((await writing).created.size).toBe(1);
  });

  it.each([
    ['COMMIT', 'reads the winner'],
    ['ROLLBACK', 'wins'],
  ])('R24: a start that meets a start in flight with its key waits; after its %s it %s', async (end) => {
    const key = randomUUID();
    const winner = startWrite(newRunId(), { idempotencyKey: key });
    await gate.query('BEGIN');
    await gate.query(
      `INSERT INTO baton.run_keys (namespace, kind, key, run_id, request_hash, created_at)
       VALUES ($1, 'idempotency', $2, $3, 'of the winner', baton.now())`,
      [NAMESPACE, key, winner.write.runId],
    );
    await gate.query(
      `INSERT INTO baton.workflow_runs (run_id, namespace, definition_id, definition_version, route, status,
         root_run_id, started_at) VALUES ($1, $2, 'order', 1, 'kafka', 'RUNNING', $1, baton.now())`,
      [winner.write.runId, NAMESPACE],
    );
    const loser = startWrite(newRunId(), { idempotencyKey: key });
    const writing = start(loser);
    await blocked();
    await gate.query(end);
    const { created, existing } = await writing;
    const found = { reason: 'idempotency-key', runId: winner.write.runId, requestHash: 'of the winner' };
    if (end === 'COMMIT') {
      expect(created.size).toBe(0);
      expect(existing.get(loser.write.runId)).toEqual({ ...found, status: 'RUNNING' });
    } else {
      expect([...created]).toEqual([loser.write.runId]);
    }
  });

  it('R24: the end of a run never touches its business key; the start that comes next takes it over', async () => {
    const businessKey = randomUUID();
    const first = startWrite(newRunId(), { businessKey });
    await start(first);
    const before = await keyRow(businessKey);
    const second = startWrite(newRunId(), { businessKey });
    expect((await start(second)).existing.get(second.write.runId)?.runId).toBe(first.write.runId);
    const run = { ...RUNNING, status: 'SUCCEEDED' } as const;
    await fixture.store.write({ batchId: randomUUID(), runs: [runWrite(first.write.runId, 1, { run })] });
    expect(await keyRow(businessKey)).toEqual(before);
    expect((await start(second)).created.size).toBe(1);
    expect((await keyRow(businessKey)).run_id).toBe(second.write.runId);
  });

  it('R24: a retry locks the business key before its run, and decides on whom it names then', async () => {
    const { engine, close } = engineOn(fixture.url);
    try {
      const businessKey = randomUUID();
      const command = { namespace: NAMESPACE, definitionId: 'single', input: null };
      const { runId } = await engine.start({ ...command, businessKey });
      await engine.report(failedReport(runId, (await openTasks(fixture)).get(runId)![0]!));
      const other = await engine.start(command);
      await gate.query('BEGIN');
      await gate.query('UPDATE baton.run_keys SET run_id = $2 WHERE key = $1', [businessKey, other.runId]);
      const retrying = engine
        .retry({ namespace: NAMESPACE, runId, requestId: 'again' })
        .catch((error: unknown) => error);
      await blocked();
      await third.query('BEGIN');
      await third.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE NOWAIT', [runId]);
      await third.query('ROLLBACK');
      await gate.query('COMMIT');
      expect(await retrying).toMatchObject({ kind: 'conflict', code: 'BUSINESS_KEY_IN_USE' });
      expect((await engine.getRun(NAMESPACE, runId, false)).run).toMatchObject({ status: 'FAILED', epoch: 1 });
    } finally {
      await close();
    }
  });

  it('R24: keys whose time is over are purged, some at a time, and nothing else', async () => {
    await fixture.query('DELETE FROM baton.run_keys');
    const observer = third;
    await insertKey(observer, 'run-id', 'oldest', '-3 hours');
    await insertKey(observer, 'run-id', 'older', '-2 hours');
    await insertKey(observer, 'run-id', 'locked', '-1 hours');
    await insertKey(observer, 'run-id', 'to come', '1 second');
    await insertKey(observer, 'idempotency', 'for ever');
    await gate.query('BEGIN');
    await gate.query(`SELECT 1 FROM baton.run_keys WHERE key = 'locked' FOR UPDATE`);
    const left = async () =>
      (await fixture.query<{ key: string }>('SELECT key FROM baton.run_keys ORDER BY key')).map(({ key }) => key);
    expect(await timers.purgeKeys(1)).toBe(1);
    expect(await left()).toEqual(['for ever', 'locked', 'older', 'to come']);
    expect([await timers.purgeKeys(10), await timers.purgeKeys(10)]).toEqual([1, 0]);
    expect(await left()).toEqual(['for ever', 'locked', 'to come']);
    await gate.query('COMMIT');
    await fixture.moveClock('2 seconds');
    expect(await timers.purgeKeys(10)).toBe(2);
    expect(await left()).toEqual(['for ever']);
    await fixture.moveClock('0 seconds');
  });

  it('R24: a start that meets a key just when it is purged begins anew', async () => {
    const one = startWrite(newRunId(), { clientRunId: true });
    await insertKey(third, 'run-id', one.write.runId, '-1 hours');
    await gate.query('BEGIN');
    await gate.query('DELETE FROM baton.run_keys WHERE key = $1', [one.write.runId]);
    const writing = start(one);
    await blocked();
    await gate.query('COMMIT');
    expect((await writing).created.size).toBe(1);
  });
});
