import type { MemoryStore } from './testing/index.js';
import {
  completed,
  countedIds,
  failed,
  memoryEngine as makeEngine,
  openTask,
  startOf,
  storeWithDefinitions,
} from './testing/index.js';

describe.each(['allowed', 'single-statement'] as const)('a run on the engine, transactions %s', (transactions) => {
  const memoryEngine = (options: Parameters<typeof makeEngine>[0] = {}, store?: MemoryStore) =>
    makeEngine({ transactions, ...options }, store);

  it('is driven from its start to its success by reports', async () => {
    const { engine, store } = memoryEngine();
    const { runId, created, status } = await startOf(engine, 'chain');
    expect({ created, status }).toEqual({ created: true, status: 'RUNNING' });
    for (const nodeId of ['a', 'b', 'c']) {
      expect(await engine.report(completed(store, runId, nodeId, `{"of":"${nodeId}"}`))).toBe('APPLIED');
    }
    const { run, output } = await engine.getRun('default', runId, true);
    expect(run.status).toBe('SUCCEEDED');
    expect(output).toBe('{"end":{"of":"c"}}');
  });

  it('tells the worker of a task everything it needs, with the input byte for byte', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain', '{"big":9007199254740993, "list":[ ]}');
    const { taskId } = openTask(store, runId, 'a');
    const [message] = store.outbox.filter(({ type }) => type === 'task.dispatched');
    expect(message?.topic).toBe('baton.default.tasks.work');
    expect(message?.payload).toBe(
      `{"runId":"${runId}","taskId":"${taskId}","nodeId":"a","item":0,"kind":"forward","generation":1,"attempt":1,` +
        `"queue":"work","handler":"a","definitionId":"chain","definitionVersion":1,` +
        `"idempotencyKey":"${runId}/a/0/forward/1","inputBytes":45,` +
        `"input":{"from":{"big":9007199254740993, "list":[ ]}}}`,
    );
  });

  it('passes large outputs on, which neither the cache keeps nor a message carries (R35)', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain');
    const large = JSON.stringify('x'.repeat(100_000));
    await engine.report(completed(store, runId, 'a', large));
    const { taskId } = openTask(store, runId, 'b');
    expect(store.tasks.get(runId)?.get(taskId)?.input).toBe(`{"from":${large}}`);
    expect(store.outbox.at(-1)?.payload).toContain('"inputBytes":100011}');
    await engine.report(completed(store, runId, 'b'));
    await engine.report(failed(store, runId, 'c'));
    expect(store.tasks.get(runId)?.get(openTask(store, runId, 'a').taskId)?.input).toContain(`"output":${large}`);
  });

  it('knows of texts and leases only what belongs to the state that it reads again', async () => {
    const store = storeWithDefinitions();
    const one = memoryEngine({}, store).engine;
    const two = memoryEngine({ newId: countedIds(store.nowMs, 2) }, store).engine;
    const { runId } = await startOf(one, 'diamond');
    const { taskId, attempt } = openTask(store, runId, 'top');
    const call = { namespace: 'default', runId, taskId, attempt, owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    const { leaseId = '' } = await one.acquire(call);
    // The other engine ends the step; the first one has its row as open, without an output.
    expect(await two.report({ ...completed(store, runId, 'top', '{"kept":1}'), leaseId })).toBe('APPLIED');
    await one.signal({ namespace: 'default', runId, name: 'go', payload: '1', signalId: 's' });
    const left = openTask(store, runId, 'left');
    const lease = await two.acquire({ ...call, ...left, callId: 'd' });
    expect(await one.report({ ...completed(store, runId, 'left'), leaseId: lease.leaseId ?? '' })).toBe('APPLIED');
    await one.cancel({ namespace: 'default', runId, requestId: 'x', reason: 'asked' });
    await one.report(completed(store, runId, 'left'));
    expect(store.outbox.at(-1)?.payload).toContain('"output":{"kept":1}');
  });

  it('numbers its outbox rows without gaps, in order', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain');
    for (const nodeId of ['a', 'b', 'c']) await engine.report(completed(store, runId, nodeId));
    expect(store.outbox.map(({ runSeq }) => runSeq)).toEqual(store.outbox.map((_row, index) => index + 1));
    expect(store.outbox.at(-1)?.type).toBe('run.succeeded');
  });

  it('needs one statement for a simple report when its state is cached, and reads once when it is not', async () => {
    const cached = memoryEngine();
    const first = await startOf(cached.engine, 'chain');
    cached.store.statements.clear();
    await cached.engine.report(completed(cached.store, first.runId, 'a'));
    expect([...cached.store.statements]).toEqual([['write', 1]]);

    const cold = memoryEngine({ limits: { cachedStateBytes: 0 } });
    const second = await startOf(cold.engine, 'single');
    cold.store.statements.clear();
    await cold.engine.report(completed(cold.store, second.runId, 'only'));
    expect([...cold.store.statements]).toEqual([['readRuns', 1], ['write', 1]]); // prettier-ignore
  });

  it('undoes what was done when a later step fails for good', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain');
    await engine.report(completed(store, runId, 'a', '{"reserved":7}'));
    await engine.report(completed(store, runId, 'b'));
    await engine.report(failed(store, runId, 'c'));
    expect((await engine.getRun('default', runId, false)).run.status).toBe('COMPENSATING');
    expect(store.outbox.at(-1)?.payload).toContain('"input":{"input":{"from":{"n":1}},"output":{"reserved":7}}');
    expect(await engine.report(completed(store, runId, 'a'))).toBe('APPLIED');
    expect((await engine.getRun('default', runId, false)).run.status).toBe('COMPENSATED');
  });

  it('answers reports again, differently, too late and about nothing as R14 says, and changes nothing', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain');
    const report = completed(store, runId, 'a');
    expect(await engine.report(report)).toBe('APPLIED');
    const rows = JSON.stringify([...store.outbox, ...(store.journal.get(runId) ?? [])]);
    expect(await engine.report(report)).toBe('DUPLICATE');
    expect(await engine.report({ ...report, output: '{"other":1}' })).toBe('CONFLICT');
    expect(await engine.report({ ...report, attempt: 7 })).toBe('STALE');
    expect(await engine.report({ ...report, taskId: runId })).toBe('NOT_FOUND');
    expect(await engine.report({ ...report, runId: report.taskId })).toBe('NOT_FOUND');
    expect(await engine.report({ ...report, namespace: 'other' })).toBe('NOT_FOUND');
    expect(JSON.stringify([...store.outbox, ...(store.journal.get(runId) ?? [])])).toBe(rows);
  });

  it('compares the lease that a report names with the one that was granted', async () => {
    for (const cachedStateBytes of [0, 1_000_000]) {
      const { engine, store } = memoryEngine({ limits: { cachedStateBytes } });
      const { runId } = await startOf(engine, 'chain');
      const { taskId, attempt } = openTask(store, runId, 'a');
      const call = {
        namespace: 'default',
        runId,
        taskId,
        attempt,
        owner: 'w1',
        callId: 'c1',
        ttlMs: 0,
        wantInput: false,
      };
      const granted = await engine.acquire(call);
      expect(granted.status).toBe('GRANTED');
      expect((await engine.acquire({ ...call, owner: 'w2' })).status).toBe('HELD');
      const report = completed(store, runId, 'a');
      expect(await engine.report({ ...report, leaseId: taskId })).toBe('STALE');
      expect(await engine.report({ ...report, leaseId: 'nonsense' })).toBe('STALE');
      expect(await engine.report({ ...report, leaseId: granted.leaseId ?? '' })).toBe('APPLIED');
      expect((await engine.acquire(call)).status).toBe('STALE');
    }
  });

  it('writes no task message for a local route (R29)', async () => {
    const { engine, store } = memoryEngine({ route: 'local' });
    const { runId } = await startOf(engine, 'single');
    expect(store.outbox.map(({ type }) => type)).toEqual(['run.started']);
    await engine.report(completed(store, runId, 'only'));
    expect(store.outbox.map(({ type, runSeq }) => `${runSeq} ${type}`)).toEqual([
      '1 run.started',
      '2 node.succeeded',
      '3 run.succeeded',
    ]);
  });

  it('fails an attempt for good when its output cannot be stored, and says so', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'single');
    expect(await engine.report(completed(store, runId, 'only', '{"nul":"\\u0000"}'))).toBe('REJECTED');
    const { run } = await engine.getRun('default', runId, false);
    expect(run.failure?.code).toBe('REPORT_REJECTED');
  });

  it('tells hooks of nothing before the commit, and wakes who waits for the result', async () => {
    const told: string[] = [];
    const { engine, store } = memoryEngine({
      hooks: { onRunEnded: (run) => told.push(`${run.status}:${store.runs.get(run.runId)?.state.status}`) },
    });
    const { runId } = await startOf(engine, 'single');
    const waiting = engine.awaitResult('default', runId, 60_000);
    await engine.report(completed(store, runId, 'only'));
    expect((await waiting).run.status).toBe('SUCCEEDED');
    expect(told).toEqual(['SUCCEEDED:SUCCEEDED']);
    await engine.close();
  });
});
