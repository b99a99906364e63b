import { Worker } from 'node:worker_threads';
import type { EngineApi, LeasedTask, Store, TaskReport } from '@baton/engine';
import type { Client } from 'pg';
import { engineOn, openTasks, publish, type EngineOnPostgres, type OpenTask } from './testing/engine-on-postgres.js';
import { waitingFor } from './testing/locks.js';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE } from './testing/writes.js';

const task = (id: string, more: object = {}) => ({
  id,
  type: 'task',
  queue: 'work',
  retry: { maxAttempts: 1 },
  ...more,
});
const definitions = [
  { id: 'pair', version: 1, nodes: [task('a', { compensate: { task: 'undo.a' } }), task('b')] },
  { id: 'steps', version: 1, nodes: [task('one'), task('two', { after: ['one'] }), task('three', { after: ['two'] })] },
];
const embedded = { route: 'local', transactions: 'single-statement' } as const;
const claimable = definitions.map(({ id, version }) => ({ id, version, queue: 'work' }));
const GATE = 7001;

describe.each(MAJORS)('decisions without a transaction (R30) on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let engine: EngineApi;
  let other: EngineApi;
  let beforeWrite: (() => Promise<unknown>)[] = [];

  const around = (store: Store): Store => ({
    ...store,
    write: async (batch) => {
      await beforeWrite.shift()?.();
      return store.write(batch);
    },
    withLockedRuns: () => Promise.reject(new Error('no transaction was to be opened')),
  });

  beforeAll(async () => {
    fixture = await storeFixture(major, { library: true });
    for (const definition of definitions) await publish(fixture, JSON.stringify(definition));
    engines = [engineOn(fixture.url, embedded, around), engineOn(fixture.url, embedded)];
    engine = engines[0]!.engine;
    other = engines[1]!.engine;
  });
  beforeEach(() => {
    beforeWrite = [];
  });
  afterAll(async () => {
    await Promise.all(engines.map((one) => one.close()));
    await fixture.close();
  });

  async function startPair(): Promise<{ runId: string; a: OpenTask; b: OpenTask }> {
    const { runId } = await engine.start({ namespace: NAMESPACE, definitionId: 'pair', input: null });
    const open = (await openTasks(fixture)).get(runId) ?? [];
    const of = (nodeId: string): OpenTask => open.find((one) => one.nodeId === nodeId)!;
    return { runId, a: of('a'), b: of('b') };
  }

  const failure = { code: 'DECLINED', message: 'no' };
  const fail = (runId: string, b: OpenTask) =>
    engine.report({ namespace: NAMESPACE, runId, ...b, status: 'failed', failure, retryable: false });
  const acquire = (by: EngineApi, runId: string, { taskId, attempt }: OpenTask) =>
    by
      .acquire({ namespace: NAMESPACE, runId, taskId, attempt, owner: 'w', callId: taskId, ttlMs: 0, wantInput: false })
      .then(({ status }) => status);
  const rowOf = async (taskId: string) => {
    const sql = `SELECT status, cut_off, unknown_outcome, lease_id IS NOT NULL AS leased
      FROM baton.task_instances WHERE task_id = $1`;
    return (await fixture.query(sql, [taskId]))[0];
  };
  const cutOff = { status: 'SCHEDULED', cut_off: true, unknown_outcome: false, leased: true };
  const notStarted = { status: 'CANCELLED', cut_off: false, unknown_outcome: false, leased: false };

  /** The grant as another process has it under way: its row is changed, and not committed. */
  async function grantUnderWay(taskId: string): Promise<Client> {
    const session = await fixture.connect();
    await session.query('BEGIN');
    await session.query(
      `UPDATE baton.task_instances SET lease_id = gen_random_uuid(), lease_owner = 'x', leased_at = baton.now(),
        lease_expires_at = baton.now() + interval '30 seconds', start_to_close_at = baton.now() + interval '1 hour'
       WHERE task_id = $1`,
      [taskId],
    );
    return session;
  }

  it('a grant that commits between the look and the write: the failure is decided again, the undo waits', async () => {
    const { runId, a, b } = await startPair();
    beforeWrite = [async () => expect(await acquire(other, runId, a)).toBe('GRANTED')];
    expect(await fail(runId, b)).toBe('APPLIED');
    expect(await rowOf(a.taskId)).toEqual(cutOff);
  });

  it.each(['COMMIT', 'ROLLBACK'])('a grant that is under way when the write comes, and ends in %s', async (end) => {
    const { runId, a, b } = await startPair();
    const session = await grantUnderWay(a.taskId);
    const reported = fail(runId, b);
    await waitingFor(fixture, 'row of the other task');
    await session.query(end);
    expect(await reported).toBe('APPLIED');
    expect(await rowOf(a.taskId)).toEqual(end === 'COMMIT' ? cutOff : notStarted);
  });

  it('a grant that comes while the write is under way, or after it, is refused: nothing was started', async () => {
    await fixture.query(`CREATE FUNCTION hold_journal() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(${GATE}); RETURN NEW; END $$`);
    const { runId, a, b } = await startPair();
    await fixture.query(
      'CREATE TRIGGER hold BEFORE INSERT ON baton.run_journal FOR EACH ROW EXECUTE FUNCTION hold_journal()',
    );
    const session = await fixture.connect();
    await session.query(`SELECT pg_advisory_lock(${GATE})`);
    const reported = fail(runId, b);
    await waitingFor(fixture, 'journal');
    expect(await acquire(other, runId, a)).toBe('RETRY');
    const claim = { namespace: NAMESPACE, definitions: claimable, owner: 'w', callId: runId, ttlMs: 0, limit: 100 };
    expect((await other.claim(claim)).filter((leased) => leased.taskId === a.taskId)).toEqual([]);
    await session.query(`SELECT pg_advisory_unlock(${GATE})`);
    expect(await reported).toBe('APPLIED');
    await fixture.query('DROP TRIGGER hold ON baton.run_journal');
    expect(await acquire(other, runId, a)).toBe('STALE');
    expect(await rowOf(a.taskId)).toEqual(notStarted);
  });

  it('a wake-up does not take a task away that was granted meanwhile (R12)', async () => {
    const { runId, a } = await startPair();
    await fixture.moveClock('10 minutes');
    beforeWrite = [async () => expect(await acquire(other, runId, a)).toBe('GRANTED')];
    const due = { kind: 'task', namespace: NAMESPACE, runId, taskId: a.taskId, attempt: a.attempt } as const;
    expect(await engine.fireDue([due])).toMatchObject([{ outcome: 'IGNORED' }]);
    expect(await rowOf(a.taskId)).toMatchObject({ status: 'SCHEDULED', leased: true });
    await fixture.moveClock('0 seconds');
  });

  it('W1: three steps are four commits, and every lease is there when it is told', async () => {
    const wish = { owner: 'embedded', ttlMs: 0, max: 1 };
    const started = await engine.start({ namespace: NAMESPACE, definitionId: 'steps', input: '1', lease: wish });
    const commit = async () =>
      (
        await fixture.query('SELECT version, last_commit FROM baton.workflow_runs WHERE run_id = $1', [started.runId])
      )[0];
    const versions = [await commit()];
    let leased: readonly LeasedTask[] = started.leased ?? [];
    for (const nodeId of ['one', 'two', 'three']) {
      expect(leased.map((one) => one.nodeId)).toEqual([nodeId]);
      const { leaseId, ...step } = leased[0]!;
      const [row] = await fixture.query<{ lease_id: string }>(
        'SELECT lease_id FROM baton.task_instances WHERE task_id = $1',
        [step.taskId],
      );
      expect(row?.lease_id).toBe(leaseId);
      ({ leased } = await engine.reportAndLease(reportOf({ leaseId, ...step }), wish));
      versions.push(await commit());
    }
    expect(versions.map((row) => Number(row?.['version']))).toEqual([1, 2, 3, 4]);
    const messages = await fixture.query('SELECT 1 FROM baton.outbox WHERE run_id = $1 AND topic ~ $2', [
      started.runId,
      'tasks',
    ]);
    expect(messages).toEqual([]); // R29
  });
});

function reportOf(leased: LeasedTask): TaskReport {
  const { namespace, runId, taskId, nodeId, attempt, leaseId } = leased;
  return { namespace, runId, taskId, nodeId, attempt, leaseId, status: 'completed', output: '{"ok":true}' };
}

/** Looks from a thread of its own: this one is blocked. */
const OBSERVER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { Client } = require(workerData.pg);
  (async () => {
    const client = new Client({ connectionString: workerData.url });
    await client.connect();
    let seen = 0, looks = 0, over = false;
    parentPort.once('message', () => { over = true; });
    parentPort.postMessage('ready');
    while (!over) {
      const { rows } = await client.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'embedded' AND state LIKE 'idle in transaction%'");
      looks += 1;
      seen += rows.length;
    }
    await client.end();
    parentPort.postMessage({ seen, looks });
  })();
`;

describe('a handler that blocks the event loop (R30)', () => {
  const once = (worker: Worker) => new Promise<unknown>((resolve) => worker.once('message', resolve));
  const pause = new Int32Array(new SharedArrayBuffer(4));
  /** User code that computes, or waits without awaiting. */
  const blockFor = (ms: number): void => void Atomics.wait(pause, 0, 0, ms);

  /** Everything that an embedded engine is asked, with a handler that blocks at every turn of the event loop. */
  async function busyLife(engine: EngineApi, fixture: StoreFixture): Promise<void> {
    const namespace = NAMESPACE;
    const wish = { owner: 'embedded', ttlMs: 0, max: 2 };
    let isOver = false;
    const life = async (): Promise<void> => {
      const begin = (n: number) =>
        engine.start({ namespace, definitionId: 'pair', input: null, idempotencyKey: `k${n}`, lease: wish });
      const runs = await Promise.all([0, 1, 2, 3].map(begin));
      const [failing, cancelled, silent, done] = runs.map(({ leased }) => leased!);
      const failure = { code: 'DECLINED', message: 'no' };
      const failed = { ...reportOf(failing![1]!), status: 'failed', failure, retryable: false } as const;
      const command = { namespace, runId: cancelled![0]!.runId, requestId: 'r' };
      await Promise.all([
        engine.reportAndLease(failed, wish),
        engine.cancel({ ...command, reason: 'asked' }),
        ...done!.map((leased) => engine.reportAndLease(reportOf(leased), wish)),
        engine.claim({ namespace, definitions: claimable, owner: 'embedded', callId: 'c', ttlMs: 0, limit: 9 }),
        ...silent!.map(({ leaseId, runId, taskId, attempt }) =>
          engine.heartbeat({ namespace, runId, taskId, attempt, leaseId, ttlMs: 0 }),
        ),
      ]);
      await fixture.moveClock('10 minutes');
      const open = await openTasks(fixture);
      const items = [...open].flatMap(([runId, tasks]) =>
        tasks.map(({ taskId, attempt }) => ({ kind: 'task', namespace, runId, taskId, attempt }) as const),
      );
      await engine.fireDue(items);
      const retry = { namespace, runId: failing![0]!.runId, requestId: 'again' };
      await engine.retry(retry).catch(() => undefined);
    };
    const living = life().finally(() => (isOver = true));
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      blockFor(10);
    }
    await living;
  }

  it.each([
    ['single-statement', false],
    ['allowed', true],
  ] as const)('transactions %s: a session is idle in a transaction meanwhile: %s', async (transactions, isSeen) => {
    const fixture = await storeFixture(18, { library: true });
    for (const definition of definitions) await publish(fixture, JSON.stringify(definition));
    const made = engineOn(fixture.url, { ...embedded, transactions }, undefined, { applicationName: 'embedded' });
    const workerData = { pg: require.resolve('pg'), url: fixture.url };
    const observer = new Worker(OBSERVER, { eval: true, workerData });
    try {
      expect(await once(observer)).toBe('ready');
      await busyLife(made.engine, fixture);
      observer.postMessage('stop');
      const { seen, looks } = (await once(observer)) as { seen: number; looks: number };
      expect(looks).toBeGreaterThan(20);
      expect(seen > 0).toBe(isSeen);
    } finally {
      await observer.terminate();
      await made.close();
      await fixture.close();
    }
  });
});
