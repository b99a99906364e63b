import { createDatabase, eventually, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { defineSaga } from '../definition/define-saga.js';
import { SagaRegistry } from '../definition/registry.js';
import { postgresLocker } from '../leader/postgres-locker.js';
import { defaultSagaConfig, type SagaConfig } from './config.js';
import { createSagaRuntime, type SagaRuntimeOptions } from './create-runtime.js';
import type { SagaRuntime } from './saga-runtime.js';
import { LogBook } from './testing/runtime-fixture.js';
import { Ledger } from './testing/saga-suite.js';

/** Nothing is looked for by itself. */
const HOURLY: SagaConfig = { ...defaultSagaConfig, pollIntervalMs: 3_600_000 };

/** As a full disk says it: the last of the rows that a commit writes cannot be written. */
const DENY = `CREATE FUNCTION deny() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '53100'; END $$`;

describe('a runtime on PostgreSQL', () => {
  let database: TestDatabase;
  let ledger: Ledger;
  const runtimes: SagaRuntime[] = [];

  beforeEach(async () => {
    database = await createDatabase({ library: true });
    ledger = new Ledger();
  });
  afterEach(async () => {
    await Promise.all(runtimes.splice(0).map((runtime) => runtime.close(5_000)));
    await database.drop();
  });

  async function running(options: Partial<SagaRuntimeOptions> = {}): Promise<SagaRuntime> {
    const saga = defineSaga({ id: 'order', steps: [ledger.step('a'), ledger.step('b')] });
    let looks = 0;
    const runtime = await createSagaRuntime({
      database: { url: database.url, poolSize: 4 },
      registry: new SagaRegistry([saga]),
      logger: new LogBook(),
      observer: { tick: () => (looks += 1) },
      ...options,
    });
    runtimes.push(runtime);
    await runtime.start();
    // The look of the start is over: its own, since a tick beside it would leave it waiting for a slot.
    await eventually(() => looks > 0);
    return runtime;
  }

  async function sql(text: string): Promise<void> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(text).finally(() => client.end());
  }

  async function transaction(end: 'COMMIT' | 'ROLLBACK', work: (client: Client) => Promise<string>): Promise<string> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query('BEGIN');
      const runId = await work(client);
      await client.query(end);
      return runId;
    } finally {
      await client.end();
    }
  }

  it('W1: all first steps of a saga begin with its start, however seldom somebody looks', async () => {
    const saga = defineSaga({
      id: 'fan',
      steps: [ledger.step('a'), { ...ledger.step('b'), after: [] }, { ...ledger.step('c'), after: [] }],
    });
    const runtime = await running({ config: HOURLY, registry: new SagaRegistry([saga]) });
    for (let run = 0; run < 2; run += 1) {
      const { result } = await runtime.client.start(saga, null);
      expect(await result({ timeoutMs: 2_000 })).toMatchObject({ status: 'succeeded' });
    }
    expect([...ledger.calls].sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
  });

  it('2.5: a saga that was started in a transaction that rolls back never existed', async () => {
    const runtime = await running({ config: HOURLY });
    const { client } = runtime;
    const runId = await transaction('ROLLBACK', async (tx) => (await client.start('order', 1, { tx })).runId);
    runtime.kick();
    expect(await runtime.tick()).toEqual({ claimed: 0 });
    await expect(client.get(runId)).rejects.toMatchObject({ kind: 'not-found', code: 'RUN_NOT_FOUND' });
    expect(ledger.calls).toEqual([]);
  });

  it('2.5: committed, with a poll interval of an hour, it begins only by the kick', async () => {
    const runtime = await running({ config: HOURLY });
    const { client } = runtime;
    const runId = await transaction('COMMIT', async (tx) => (await client.start('order', 1, { tx })).runId);
    expect((await client.get(runId)).status).toBe('pending');
    expect(ledger.calls).toEqual([]);
    client.kick();
    expect(await client.result(runId, { timeoutMs: 20_000 })).toMatchObject({ status: 'succeeded' });
  });

  it('2.5: and without a kick at the next manual tick', async () => {
    const runtime = await running({ config: HOURLY });
    const { client } = runtime;
    const runId = await transaction('COMMIT', async (tx) => (await client.start('order', 1, { tx })).runId);
    expect((await client.get(runId)).status).toBe('pending');
    expect(await runtime.tick()).toEqual({ claimed: 1 });
    expect(await client.result(runId, { timeoutMs: 20_000 })).toMatchObject({ status: 'succeeded' });
  });

  it('a start outside of a transaction takes its first step along: nothing has to look for it', async () => {
    const { client } = await running({ config: HOURLY });
    const { runId } = await client.start('order', 1);
    expect(await client.result(runId, { timeoutMs: 20_000 })).toMatchObject({ status: 'succeeded' });
  });

  it('C10: a commit that fails leaves nothing of itself, and the step is recorded once when it is said again', async () => {
    const logger = new LogBook();
    const saga = defineSaga({
      id: 'order',
      steps: [ledger.step('a', () => ledger.hold('a').then(() => 'done')), ledger.step('b')],
    });
    const { client } = await running({ registry: new SagaRegistry([saga]), logger });
    const { runId } = await client.start('order', 1);
    await eventually(() => ledger.calls.includes('a'));
    const before = await client.history(runId);
    await sql(`${DENY}; CREATE TRIGGER deny BEFORE INSERT ON baton.run_journal FOR EACH ROW EXECUTE FUNCTION deny()`);
    ledger.open('a');
    await eventually(() => logger.of('warn').some((line) => line.includes('will be repeated')));
    expect(await client.history(runId)).toEqual(before);
    expect((await client.get(runId)).status).toBe('running');
    await sql('DROP TRIGGER deny ON baton.run_journal');
    expect(await client.result(runId, { timeoutMs: 30_000 })).toMatchObject({ status: 'succeeded' });
    const completed = (await client.history(runId)).filter(({ kind }) => kind === 'step_completed');
    expect(completed.map(({ step }) => step)).toEqual(['a', 'b']);
    expect(ledger.calls).toEqual(['a', 'b']);
  });

  it('L8: two processes, locks in the database and ten runs: each step runs once', async () => {
    const lockers = [postgresLocker({ url: database.url }), postgresLocker({ url: database.url })];
    const config = { ...defaultSagaConfig, pollIntervalMs: 50 };
    const [first] = await Promise.all(lockers.map((leaderElect) => running({ leaderElect, config })));
    const started = await Promise.all(Array.from({ length: 10 }, (_, n) => first!.client.start('order', n)));
    for (const { result } of started)
      expect(await result({ timeoutMs: 30_000 })).toMatchObject({ status: 'succeeded' });
    expect([...ledger.calls].sort()).toEqual([...Array<string>(10).fill('a'), ...Array<string>(10).fill('b')]);
    for (const { runId } of started) {
      const kinds = (await first!.client.history(runId)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'step_completed')).toHaveLength(2);
      expect(kinds).not.toContain('step_failed');
    }
    await Promise.all(runtimes.splice(0).map((runtime) => runtime.close(5_000)));
    await Promise.all(lockers.map((locker) => locker.close()));
  });

  it('W12: a version that was published with other steps is refused by name at the start', async () => {
    await running();
    const other = defineSaga({ id: 'order', steps: [ledger.step('a'), ledger.step('c')] });
    const second = await createSagaRuntime({ database: { url: database.url }, registry: new SagaRegistry([other]) });
    runtimes.push(second);
    await expect(second.start()).rejects.toMatchObject({ kind: 'conflict', code: 'DEFINITION_CHANGED' });
    expect(second.isRunning).toBe(false);
  });

  it('W12: runs of a version that this process does not have stay claimable for others', async () => {
    const runtime = await running();
    const newer = defineSaga({ id: 'order', version: 2, steps: [ledger.step('only-in-2')] });
    const other = await createSagaRuntime({
      database: { url: database.url },
      registry: new SagaRegistry([newer]),
      logger: new LogBook(),
    });
    runtimes.push(other);
    await other.start();
    await other.stop();
    const { runId } = await other.client.start('order', 1);
    expect(await runtime.tick()).toEqual({ claimed: 0 });
    expect((await runtime.client.get(runId)).status).toBe('pending');
    await other.start();
    expect(await other.client.result(runId, { timeoutMs: 20_000 })).toMatchObject({ status: 'succeeded' });
    expect(ledger.calls).toEqual(['only-in-2']);
  });
});
