import { randomUUID } from 'node:crypto';
import { single } from '@baton/engine/testing';
import { eventually } from '@baton/testkit';
import type { Client } from 'pg';
import { writeStartOn } from './start-on.js';
import { engineOn, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { waitingFor } from './testing/locks.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId, startWrite } from './testing/writes.js';

/** Longer than a test may take: who waits for the lock does not pass. */
const LOCK_MS = 300_000;

describe("R30: starts with keys and a caller's open transaction that has one of them", () => {
  let fixture: StoreFixture;
  let under: EngineOnPostgres;
  let caller: Client;

  beforeAll(async () => {
    fixture = await storeFixture(18, { library: true });
    await publish(fixture, single);
    caller = await fixture.connect();
  });
  afterAll(() => fixture.close());
  beforeEach(() => {
    const timeouts = { lockMs: LOCK_MS, statementMs: LOCK_MS, answerMs: LOCK_MS };
    under = engineOn(fixture.url, { route: 'local', transactions: 'single-statement' }, undefined, { timeouts });
  });
  afterEach(() => under.close());

  const start = (idempotencyKey?: string) =>
    under.engine.start({
      namespace: NAMESPACE,
      definitionId: 'single',
      input: null,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
  /** The run of the caller, whose transaction stays open. */
  const hold = async (idempotencyKey: string): Promise<string> => {
    const runId = newRunId();
    await caller.query('BEGIN');
    await writeStartOn(caller, randomUUID(), startWrite(runId, { route: 'local', idempotencyKey }));
    return runId;
  };

  it('nothing else waits: starts, claims and reports of the same process go on', async () => {
    const key = randomUUID();
    await hold(key);
    const waiting = start(key);
    await waitingFor(fixture, 'key');
    expect((await start()).created).toBe(true);
    const definitions = [{ id: 'single', version: 1, queue: 'work' }];
    const [task] = await under.engine.claim({
      namespace: NAMESPACE,
      definitions,
      owner: 'process',
      callId: randomUUID(),
      ttlMs: 0,
      limit: 1,
    });
    expect(await under.engine.report({ ...task!, status: 'completed', output: '1' })).toBe('APPLIED');
    await caller.query('ROLLBACK');
    expect((await waiting).created).toBe(true);
  });

  it('not even where the pool has one connection alone', async () => {
    const small = engineOn(fixture.url, { route: 'local', transactions: 'single-statement' }, undefined, {
      poolSize: 1,
      timeouts: { lockMs: LOCK_MS, statementMs: LOCK_MS, answerMs: LOCK_MS, connectMs: 1_000 },
    });
    try {
      const key = randomUUID();
      await hold(key);
      const command = { namespace: NAMESPACE, definitionId: 'single', input: null };
      const waiting = small.engine.start({ ...command, idempotencyKey: key });
      // Longer than the look before it takes: this one waits for good.
      const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
        AND clock_timestamp() - query_start > interval '200 milliseconds'`;
      await eventually(async () => (await fixture.query(waits)).length > 0);
      expect((await small.engine.start(command)).created).toBe(true);
      await caller.query('ROLLBACK');
      expect((await waiting).created).toBe(true);
    } finally {
      await caller.query('ROLLBACK');
      await small.close();
    }
  });

  it('nor do other starts with keys of the same batch', async () => {
    const key = randomUUID();
    const held = await hold(key);
    const waiting = start(key).catch((error: { code: string }) => error.code);
    const others = await Promise.all(Array.from({ length: 9 }, () => start(randomUUID())));
    expect(others.map(({ created }) => created)).toEqual(others.map(() => true));
    await caller.query('COMMIT');
    // The caller's request was another one: its run has the key, and this one hears so.
    expect(await waiting).toBe('IDEMPOTENCY_MISMATCH');
    expect(await fixture.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1', [held])).toHaveLength(1);
  });

  it('a key that is held for long costs no more than two connections, and close waits for it', async () => {
    const key = randomUUID();
    await hold(key);
    const waiting = Array.from({ length: 6 }, () => start(key));
    await waitingFor(fixture, 'key');
    expect((await start(randomUUID())).created).toBe(true);
    let isClosed = false;
    const closing = under.engine.close().then(() => (isClosed = true));
    await fixture.query('SELECT 1');
    expect(isClosed).toBe(false);
    await caller.query('ROLLBACK');
    const answers = await Promise.all(waiting);
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
    await closing;
  });
});
