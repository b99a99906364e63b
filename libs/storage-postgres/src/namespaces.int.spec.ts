import { randomUUID } from 'node:crypto';
import type { EngineApi, EngineError, Store } from '@baton/engine';
import { diamond, single } from '@baton/engine/testing';
import { completedReport, engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { NAMESPACE, newRunId, runWrite, startWrite } from './testing/writes.js';

const definitions = [{ id: 'diamond', version: 1, queue: 'work' }];
const STRANGER = 'stranger';

interface Known {
  readonly runId: string;
  readonly taskId: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly leaseId: string;
  readonly timerId: string;
}

/** Who knows every id of a run, but has the key of another namespace (I14). */
describe('a stranger who knows the ids', () => {
  let fixture: StoreFixture;
  let engines: EngineOnPostgres[];
  let known: Known;

  beforeAll(async () => {
    fixture = await storeFixture();
    for (const text of [diamond, single]) await publish(fixture, text);
    engines = [engineOn(fixture.url), engineOn(fixture.url)];
    known = await knownRun(engines[0]!.engine);
  });
  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await fixture.close();
  });

  /** A run that has everything a run can have: a lease, a timer, a buffered signal, a command, keys. */
  async function knownRun(engine: EngineApi): Promise<Known> {
    const start = { namespace: NAMESPACE, definitionId: 'diamond', input: '1' };
    const { runId } = await engine.start({ ...start, idempotencyKey: 'k', businessKey: 'b' });
    const top = (await openTasks(fixture)).get(runId)![0]!;
    await engine.report(completedReport(runId, top));
    await engine.signal({ namespace: NAMESPACE, runId, name: 'other', payload: '1', signalId: 's1' });
    const task = (await openTasks(fixture)).get(runId)![0]!;
    const lease = { owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    const { leaseId } = await engine.acquire({ namespace: NAMESPACE, runId, ...task, ...lease });
    const [timer] = await fixture.query<{ timer_id: string }>('SELECT timer_id FROM baton.timers');
    return { runId, ...task, leaseId: leaseId!, timerId: timer!.timer_id };
  }

  /** Every row of every table. */
  async function everything(): Promise<unknown> {
    const tables = await fixture.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'baton' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
    );
    const rows: Record<string, unknown> = {};
    for (const { name } of tables) rows[name] = await fixture.query(`SELECT t::text FROM ${name} t ORDER BY 1`);
    return rows;
  }

  const answerOf = (call: Promise<unknown>): Promise<unknown> =>
    call.catch((error: EngineError) => `${error.kind} ${error.code}`);

  const calls = (engine: EngineApi): Record<Exclude<keyof EngineApi, 'close' | 'fireDue'>, () => Promise<unknown>> => {
    const run = { namespace: STRANGER, runId: known.runId };
    const task = { ...run, taskId: known.taskId, nodeId: known.nodeId, attempt: known.attempt };
    const command = { ...run, requestId: 'r' };
    const lease = { owner: 'w', callId: 'c', ttlMs: 0, wantInput: true };
    const neverWritten = () => Promise.reject(new Error('nothing was decided'));
    return {
      start: () => engine.start({ namespace: STRANGER, definitionId: 'diamond', input: '1', idempotencyKey: 'k' }),
      startWith: () => engine.startWith({ namespace: STRANGER, definitionId: 'diamond', input: '1' }, neverWritten),
      report: () => engine.report({ ...completedReport(known.runId, task), namespace: STRANGER }),
      reportAndLease: () =>
        engine.reportAndLease({ ...completedReport(known.runId, task), namespace: STRANGER }, { ...lease, max: 9 }),
      acquire: () => engine.acquire({ ...task, ...lease }),
      claim: () => engine.claim({ ...lease, namespace: STRANGER, definitions, limit: 9 }),
      claimable: () => engine.claimable(STRANGER, definitions, 9),
      heartbeat: () => engine.heartbeat({ ...task, leaseId: known.leaseId, ttlMs: 0, progress: '1' }),
      signal: () => engine.signal({ ...run, name: 'other', payload: '1', signalId: 's1' }),
      retry: () => engine.retry(command),
      retryCompensation: () => engine.retryCompensation(command),
      cancel: () => engine.cancel({ ...command, reason: 'mine' }),
      getRun: () => engine.getRun(STRANGER, known.runId, true),
      listRuns: () => engine.listRuns({ namespace: STRANGER, pageSize: 10, businessKey: 'b' }),
      history: () => engine.history(STRANGER, known.runId, 0, 10),
      awaitResult: () => engine.awaitResult(STRANGER, known.runId, 10),
      awaitOutcome: () => engine.awaitOutcome(STRANGER, known.runId, 10),
    };
  };

  it.each([
    ['that has the run in its cache', 0],
    ['that has never seen it', 1],
  ])('R28: finds nothing through any call of an engine %s, and changes nothing', async (_which, index) => {
    const { engine } = engines[index]!;
    const before = await everything();
    const answers: Record<string, unknown> = {};
    for (const [name, call] of Object.entries(calls(engine))) answers[name] = await answerOf(call());
    const notFound = 'not-found RUN_NOT_FOUND';
    expect(answers).toEqual({
      start: 'not-found DEFINITION_NOT_FOUND',
      startWith: 'not-found DEFINITION_NOT_FOUND',
      report: 'NOT_FOUND',
      reportAndLease: { outcome: 'NOT_FOUND', leased: [], status: null },
      claim: [],
      claimable: [],
      acquire: { status: 'NOT_YET' },
      heartbeat: { status: 'LOST' },
      signal: notFound,
      retry: notFound,
      retryCompensation: notFound,
      cancel: notFound,
      getRun: notFound,
      listRuns: { runs: [], nextCursor: null },
      history: notFound,
      awaitResult: notFound,
      awaitOutcome: notFound,
    });
    const due = { namespace: STRANGER, runId: known.runId };
    const wake = { ...due, kind: 'task', taskId: known.taskId, attempt: known.attempt } as const;
    const failed = { outcome: 'FAILED', reason: 'RUN_NOT_FOUND' };
    expect(await engine.fireDue([wake, { ...due, kind: 'timer', timerId: known.timerId }])).toEqual([failed, failed]);
    expect(await everything()).toEqual(before);
  });

  it('R28: finds nothing through any statement of the store either', async () => {
    const { store } = fixture;
    const before = await everything();
    const ref = { namespace: STRANGER, runId: known.runId };
    const needs = {
      runInput: true as const,
      expiredSignals: true as const,
      payloads: [known.taskId],
      leases: [known.taskId],
      signals: ['other'],
      knownSignals: ['s1'],
      timers: [known.timerId],
    };
    const lease = { ...ref, taskId: known.taskId, attempt: known.attempt, ttlMs: 0 };
    const write = { ...runWrite(known.runId, 3), namespace: STRANGER };
    const batchId = randomUUID();
    const [last] = await fixture.query<{ id: string }>('SELECT last_commit AS id FROM baton.workflow_runs');
    const stolen = startWrite(known.runId, { clientRunId: true }, { namespace: STRANGER });
    const asked: Record<Exclude<keyof Store, 'close'>, () => Promise<unknown>> = {
      readRuns: async () => (await store.readRuns([ref])).size,
      readNeeds: async () => (await store.readNeeds([{ ...ref, needs }])).get(known.runId),
      readCommands: async () => (await store.readCommands([{ ...ref, commandId: 'r' }])).size,
      write: async () => (await store.write({ batchId, runs: [write] })).held.size,
      writeStarts: async () => (await store.writeStarts({ batchId, starts: [stolen] })).created.size,
      withLockedRuns: () =>
        store.withLockedRuns(
          [ref],
          async (session) => {
            const loaded = (await session.readNeeds([{ ...ref, needs }])).get(known.runId);
            return [session.runs.size, session.keyHolders.size, loaded?.leases?.size];
          },
          { keysFirst: true },
        ),
      committedRuns: async () => (await store.committedRuns(last!.id, [ref])).size,
      acquire: () => store.acquire([{ ...lease, owner: 'w', callId: 'c', wantInput: true }]),
      heartbeat: () => store.heartbeat([{ ...lease, leaseId: known.leaseId }]),
      claim: () => store.claim({ ...ref, owner: 'w', callId: 'c', ttlMs: 0, definitions, limit: 9 }),
      claimable: () => store.claimable(STRANGER, definitions, 9),
      loadDefinition: () => store.loadDefinition(STRANGER, 'diamond', 1),
      deployedVersion: () => store.deployedVersion(STRANGER, 'diamond'),
      flagStuck: () => store.flagStuck(ref, 'mine'),
      pushTimer: () => store.pushTimer(STRANGER, known.runId, known.timerId),
      pushWake: () => store.pushWake(STRANGER, known.runId, known.taskId),
      getRun: () => store.getRun(STRANGER, known.runId, true),
      listRuns: async () => (await store.listRuns({ namespace: STRANGER, pageSize: 10 })).runs,
      history: () => store.history(STRANGER, known.runId, 0, 10),
      statuses: async () => (await store.statuses([ref])).size,
    };
    // A statement that is added later must be asked here too.
    expect(Object.keys(asked).sort()).toEqual(
      Object.keys(store)
        .filter((name) => name !== 'close')
        .sort(),
    );
    const answers: Record<string, unknown> = {};
    for (const [name, ask] of Object.entries(asked)) answers[name] = await ask();
    const none = new Map();
    expect(answers).toEqual({
      readRuns: 0,
      readNeeds: {
        payloads: none,
        signals: new Map([['other', []]]),
        knownSignals: none,
        timers: none,
        expiredSignals: [],
      },
      readCommands: 0,
      write: 0,
      writeStarts: 0,
      withLockedRuns: [0, 0, 0],
      committedRuns: 0,
      acquire: [{ status: 'NOT_YET' }],
      heartbeat: [{ status: 'LOST' }],
      claim: [],
      claimable: [],
      loadDefinition: undefined,
      deployedVersion: undefined,
      flagStuck: undefined,
      pushTimer: 0,
      pushWake: 0,
      getRun: undefined,
      listRuns: [],
      history: [],
      statuses: 0,
    });
    expect(await everything()).toEqual(before);
  });

  it('R28: may use the same keys and ids of its own without meeting anybody', async () => {
    const { engine } = engines[1]!;
    await fixture.query(
      `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash)
       VALUES ($1, 'diamond', 1, $2, 'h')`,
      [STRANGER, diamond],
    );
    const start = { namespace: STRANGER, definitionId: 'diamond', definitionVersion: 1, input: '2' };
    const own = await engine.start({ ...start, idempotencyKey: 'k', businessKey: 'b', runId: newRunId() });
    expect(own.created).toBe(true);
    expect(own.runId).not.toBe(known.runId);
    const { runs } = await engine.listRuns({ namespace: NAMESPACE, pageSize: 10 });
    expect(runs.map(({ runId }) => runId)).toEqual([known.runId]);
  });
});
