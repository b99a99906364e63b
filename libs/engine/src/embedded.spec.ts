import type { EngineApi, LeasedTask, LeaseWish, TaskReport } from './api.js';
import type { MemoryStore } from './testing/index.js';
import { completed, failed, memoryEngine, openTask, publish, startOf } from './testing/index.js';

const wish: LeaseWish = { owner: 'embedded', ttlMs: 10_000, max: 10 };
const local = { route: 'local' } as const;

const fan = JSON.stringify({
  id: 'fan',
  version: 1,
  nodes: [
    { id: 'top', type: 'task', queue: 'work' },
    { id: 'left', type: 'task', queue: 'left', after: ['top'] },
    { id: 'middle', type: 'task', queue: 'work', after: ['top'] },
    { id: 'right', type: 'task', queue: 'right', after: ['top'] },
  ],
});

function reportOf(leased: LeasedTask | undefined, output = '{"ok":true}'): TaskReport {
  if (leased === undefined) throw new Error('nothing was leased');
  const { namespace, runId, taskId, nodeId, attempt, leaseId } = leased;
  return { namespace, runId, taskId, nodeId, attempt, leaseId, status: 'completed', output };
}

function startChain(engine: EngineApi, lease: LeaseWish | undefined = wish) {
  const start = { namespace: 'default', definitionId: 'chain', definitionVersion: 1, input: '{"n":1}' };
  return engine.start({ ...start, ...(lease === undefined ? {} : { lease }) });
}

const nodesOf = (leased: readonly LeasedTask[] = []): string[] => leased.map(({ nodeId }) => nodeId);

describe('the engine under the embedded runtime', () => {
  it('W1: the commit of one step hands the next to the same driver: four writes for three steps, and no read', async () => {
    const { engine, store } = memoryEngine(local);
    await startChain(engine); // loads the definition
    store.statements.clear();
    const { runId, leased, status } = await startChain(engine);
    expect([nodesOf(leased), status]).toEqual([['a'], 'RUNNING']);
    const first = await engine.reportAndLease(reportOf(leased?.[0], '{"of":"a"}'), wish);
    expect({ ...first, leased: nodesOf(first.leased) }).toEqual({
      outcome: 'APPLIED',
      leased: ['b'],
      status: 'RUNNING',
    });
    expect(first.leased[0]?.input).toBe('{"from":{"of":"a"}}');
    const second = await engine.reportAndLease(reportOf(first.leased[0]), wish);
    const third = await engine.reportAndLease(reportOf(second.leased[0]), wish);
    expect(third).toEqual({ outcome: 'APPLIED', leased: [], status: 'SUCCEEDED' });
    expect([...store.statements]).toEqual([
      ['writeStarts', 1],
      ['write', 3],
    ]);
    expect(store.runs.get(runId)?.output).toBe('{"end":{"ok":true}}');
  });

  it('tells of a leased task what a worker needs, and the lease is the row’s', async () => {
    const { engine, store } = memoryEngine(local);
    const { runId, leased } = await startChain(engine);
    const { taskId } = openTask(store, runId, 'a');
    const { leaseId, ...rest } = leased![0]!;
    expect(rest).toEqual({
      ...{ namespace: 'default', runId, taskId, nodeId: 'a', item: 0, kind: 'forward', generation: 1, attempt: 1 },
      ...{ failures: 0, queue: 'work', handler: 'a', definitionId: 'chain', definitionVersion: 1, epoch: 1 },
      ...{ ttlMs: 10_000, startToCloseMs: 3_600_000, input: '{"from":{"n":1}}', traceparent: null },
    });
    expect(store.tasks.get(runId)?.get(taskId)?.lease).toMatchObject({
      leaseId,
      owner: 'embedded',
      expiresAt: store.nowMs + 10_000,
    });
    const beat = { namespace: 'default', runId, taskId, attempt: 1, leaseId, ttlMs: 20_000 };
    expect(await engine.heartbeat(beat)).toEqual({ status: 'OK', ttlMs: 20_000 });
  });

  it('R14: lasts for what was asked or the heartbeat timeout, whichever is less', async () => {
    const { engine } = memoryEngine(local);
    const ttls = [0, 5_000, 90_000].map(
      async (ttlMs) => (await startChain(engine, { ...wish, ttlMs })).leased?.[0]?.ttlMs,
    );
    expect(await Promise.all(ttls)).toEqual([30_000, 5_000, 30_000]);
  });

  it('leases at most so many, and of those only what is wanted', async () => {
    const { engine, store } = memoryEngine(local);
    publish(store, fan);
    const begin = async (over: Partial<LeaseWish>) => {
      const start = { namespace: 'default', definitionId: 'fan', input: null, lease: wish };
      const { leased } = await engine.start(start);
      return nodesOf((await engine.reportAndLease(reportOf(leased?.[0]), { ...wish, ...over })).leased);
    };
    expect(await begin({})).toEqual(['left', 'middle', 'right']);
    expect(await begin({ max: 2 })).toEqual(['left', 'middle']);
    expect(await begin({ max: 0 })).toEqual([]);
    expect(await begin({ max: 1, wants: ({ queue }) => queue === 'right' })).toEqual(['right']);
    const broken = (): boolean => {
      throw new Error('a bug of the caller');
    };
    expect(await begin({ wants: broken })).toEqual([]);
  });

  it('leases for each event of one batch as that event wishes', async () => {
    const { engine, store } = memoryEngine(local);
    const runs = await Promise.all([startChain(engine), startChain(engine), startChain(engine)]);
    const reports = runs.map(({ leased }) => reportOf(leased?.[0]));
    store.statements.clear();
    const [one, two, three] = await Promise.all([
      engine.reportAndLease(reports[0]!, { ...wish, owner: 'one' }),
      engine.report(reports[1]!),
      engine.reportAndLease(reports[2]!, { ...wish, owner: 'three' }),
    ]);
    expect([nodesOf(one.leased), two, nodesOf(three.leased)]).toEqual([['b'], 'APPLIED', ['b']]);
    expect([...store.statements]).toEqual([['write', 1]]);
    const owners = runs.map(({ runId }) => {
      const { taskId } = openTask(store, runId, 'b');
      return store.tasks.get(runId)?.get(taskId)?.lease?.owner ?? null;
    });
    expect(owners).toEqual(['one', null, 'three']);
  });

  it('answers no lease where nothing was committed, and the state that the run has', async () => {
    const { engine } = memoryEngine(local);
    const { leased, runId } = await startChain(engine);
    const report = reportOf(leased?.[0]);
    await engine.reportAndLease(report, wish);
    expect(await engine.reportAndLease(report, wish)).toEqual({ outcome: 'DUPLICATE', leased: [], status: 'RUNNING' });
    const unknown = { ...report, runId: '01900000-0000-7000-8000-00000000ffff' };
    expect(await engine.reportAndLease(unknown, wish)).toEqual({ outcome: 'NOT_FOUND', leased: [], status: null });
    const again = { namespace: 'default', definitionId: 'chain', input: '{"n":1}', idempotencyKey: 'k', lease: wish };
    const [first, second] = [await engine.start(again), await engine.start(again)];
    expect([nodesOf(first.leased), second]).toEqual([
      ['a'],
      { runId: first.runId, created: false, status: 'RUNNING', leased: [] },
    ]);
    expect(runId).not.toBe(first.runId);
  });

  it('never gives a released task back to the one who released it', async () => {
    const { engine, store } = memoryEngine(local);
    const { leased, runId } = await startChain(engine);
    const report = { ...reportOf(leased?.[0]), status: 'released' as const, notStarted: true };
    expect(await engine.reportAndLease(report, wish)).toEqual({ outcome: 'APPLIED', leased: [], status: 'RUNNING' });
    expect(openTask(store, runId, 'a').attempt).toBe(2);
  });

  it('leases the undo of a run that fails to the one who reports the failure', async () => {
    const { engine, store } = memoryEngine(local);
    const { leased, runId } = await startChain(engine);
    await engine.report(reportOf(leased?.[0]));
    await engine.report(completed(store, runId, 'b'));
    const { leased: undo, status } = await engine.reportAndLease(failed(store, runId, 'c'), wish);
    expect([undo.map(({ kind, handler }) => `${kind} ${handler}`), status]).toEqual([
      ['compensate undo.a'],
      'COMPENSATING',
    ]);
  });

  it('writes no message for a task that it leases, whatever the route (R29)', async () => {
    const { engine, store } = memoryEngine();
    const { leased, runId } = await startChain(engine);
    await engine.report(reportOf(leased?.[0]));
    const sent = store.outbox.filter(({ type }) => type === 'task.dispatched');
    expect(sent.map(({ payload }) => (JSON.parse(payload) as { nodeId: string }).nodeId)).toEqual(['b']);
    expect(store.runs.get(runId)?.state.outboxSeq).toBe(Math.max(...store.outbox.map(({ runSeq }) => runSeq)));
  });

  it('refuses a wish that cannot be meant', async () => {
    const { engine } = memoryEngine(local);
    const { leased } = await startChain(engine);
    const report = reportOf(leased?.[0]);
    await expect(engine.reportAndLease(report, { ...wish, owner: '' })).rejects.toMatchObject({ code: 'NAME_INVALID' });
    await expect(engine.reportAndLease(report, { ...wish, max: -1 })).rejects.toMatchObject({ code: 'NUMBER_INVALID' });
    await expect(startChain(engine, { ...wish, ttlMs: -1 })).rejects.toMatchObject({ code: 'DURATION_INVALID' });
  });
});

describe('claims', () => {
  const definitions = [{ id: 'chain', version: 1, queue: 'work' }];
  const call = { namespace: 'default', definitions, owner: 'embedded', callId: 'c1', ttlMs: 0, limit: 10 };

  it('W20: takes what waits, and the first report of it needs no read where the run is known here', async () => {
    const { engine, store } = memoryEngine(local);
    const { runId } = await startOf(engine, 'chain');
    expect(await engine.claimable('default', definitions, 10)).toMatchObject([{ runId, nodeId: 'a', attempt: 1 }]);
    const [leased] = await engine.claim(call);
    expect(leased).toMatchObject({ runId, nodeId: 'a', ttlMs: 30_000, input: '{"from":{"n":1}}' });
    store.statements.clear();
    expect((await engine.reportAndLease(reportOf(leased), wish)).outcome).toBe('APPLIED');
    expect([...store.statements]).toEqual([['write', 1]]);
  });

  it('answers the same call with the same leases', async () => {
    const { engine } = memoryEngine(local);
    await startOf(engine, 'chain');
    const [first] = await engine.claim(call);
    await startOf(engine, 'chain');
    expect((await engine.claim(call)).map(({ leaseId }) => leaseId)).toEqual([first?.leaseId]);
    expect(await engine.claim({ ...call, callId: 'c2' })).toHaveLength(1);
  });

  it('refuses what cannot be meant, and new ones once it is closing', async () => {
    const { engine } = memoryEngine(local);
    for (const over of [{ limit: 0 }, { callId: '' }, { definitions: [{ id: 'chain', version: 0, queue: 'work' }] }]) {
      await expect(engine.claim({ ...call, ...over })).rejects.toMatchObject({ kind: 'invalid' });
    }
    await engine.close();
    await expect(engine.claim(call)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });
});

describe('a start that its caller writes', () => {
  const start = { namespace: 'default', definitionId: 'chain', input: '{"n":1}' };
  const writeTo = (store: MemoryStore) => (run: Parameters<Parameters<EngineApi['startWith']>[1]>[0]) =>
    store.writeStarts({ batchId: run.write.runId, starts: [run] });

  it('is decided here and written there, and leaves no lease and nothing in the cache', async () => {
    const hooks: string[] = [];
    const { engine, store } = memoryEngine({ ...local, hooks: { onStarted: ({ runId }) => void hooks.push(runId) } });
    const { runId, ...answer } = await engine.startWith({ ...start, lease: wish }, writeTo(store));
    expect([answer, hooks]).toEqual([{ created: true, status: 'RUNNING' }, []]);
    store.statements.clear();
    expect(await engine.report(completed(store, runId, 'a'))).toBe('APPLIED');
    expect([...store.statements]).toEqual([
      ['readRuns', 1],
      ['write', 1],
    ]);
  });

  it('answers what stands in the way, what is wrong with it, and throws what its write throws', async () => {
    const { engine, store } = memoryEngine(local);
    const keyed = { ...start, idempotencyKey: 'k' };
    const { runId } = await engine.start(keyed);
    expect(await engine.startWith(keyed, writeTo(store))).toEqual({ runId, created: false, status: 'RUNNING' });
    await expect(engine.startWith({ ...keyed, input: '2' }, writeTo(store))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_MISMATCH',
    });
    await expect(engine.startWith({ ...start, definitionId: 'none' }, writeTo(store))).rejects.toMatchObject({
      code: 'DEFINITION_NOT_FOUND',
    });
    await expect(engine.startWith({ ...start, input: '{' }, writeTo(store))).rejects.toMatchObject({ kind: 'invalid' });
    const own = new Error('the transaction is aborted');
    await expect(engine.startWith(start, () => Promise.reject(own))).rejects.toBe(own);
  });
});

describe('names of events', () => {
  it('go out under the names of the deployment, or under our own where those cannot be had', async () => {
    const events = {
      topic: (namespace: string) => `orders.${namespace}`,
      describe: (run: { readonly definitionId: string }, { kind }: { readonly kind: string }) => {
        if (kind === 'node.succeeded') return { type: `saga.${run.definitionId}.step_completed`, payload: '{"x":1}' };
        throw new Error('no name for this');
      },
    };
    const { engine, store } = memoryEngine({ ...local, events });
    const { runId } = await startOf(engine, 'single');
    await engine.report(completed(store, runId, 'only'));
    expect(store.outbox.map(({ topic, type }) => `${topic} ${type}`)).toEqual([
      'baton.default.events run.started',
      'orders.default saga.single.step_completed',
      'baton.default.events run.succeeded',
    ]);
    expect(store.outbox[1]?.payload).toBe('{"x":1}');
  });
});
