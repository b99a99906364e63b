import type { CommandResult, StartRun } from '../api.js';
import { decide } from '@baton/core';
import {
  chain,
  completed,
  countedIds,
  failed,
  memoryEngine,
  openTask,
  publish,
  single,
  startOf,
  storeWithDefinitions,
} from '../testing/index.js';

const start: StartRun = { namespace: 'default', definitionId: 'single', input: '{"a":1,"b":2}' };

describe('starting a run', () => {
  it('R24: makes one run of many parallel starts with one key, and refuses the key for another body (B77, B78)', async () => {
    const { engine, store } = memoryEngine();
    const results = await Promise.all(
      Array.from({ length: 50 }, () => engine.start({ ...start, idempotencyKey: 'k' })),
    );
    expect(results.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(results.map(({ runId }) => runId)).size).toBe(1);
    expect(store.outbox.filter(({ type }) => type === 'task.dispatched')).toHaveLength(1);
    const reordered = { ...start, idempotencyKey: 'k', input: '{ "b": 2, "a": 1 }' };
    expect((await engine.start(reordered)).created).toBe(false);
    for (const other of [{ input: '{"a":1}' }, { definitionVersion: 1 }, { definitionId: 'chain' }]) {
      await expect(engine.start({ ...start, idempotencyKey: 'k', ...other })).rejects.toMatchObject({
        kind: 'conflict',
        code: 'IDEMPOTENCY_MISMATCH',
      });
    }
    // Another tenant's key of the same name is another key (I14).
    await expect(engine.start({ ...start, namespace: 'other', idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'DEFINITION_NOT_FOUND',
    });
  });

  it('answers parallel starts with one key and two bodies: one wins, the other is refused (B78)', async () => {
    const { engine } = memoryEngine();
    const [one, two] = await Promise.allSettled([
      engine.start({ ...start, idempotencyKey: 'k' }),
      engine.start({ ...start, idempotencyKey: 'k', input: '[]' }),
    ]);
    expect(one).toMatchObject({ status: 'fulfilled', value: { created: true } });
    expect(two).toMatchObject({ status: 'rejected', reason: { code: 'IDEMPOTENCY_MISMATCH' } });
  });

  it('R24: keeps a business key for one open run, and gives it on when that run has ended', async () => {
    const { engine, store } = memoryEngine();
    const settled = await Promise.allSettled(
      Array.from({ length: 5 }, () => engine.start({ ...start, businessKey: 'order-1' })),
    );
    const [first] = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(4);
    await expect(engine.start({ ...start, businessKey: 'order-1' })).rejects.toMatchObject({
      code: 'BUSINESS_KEY_IN_USE',
    });
    await engine.report(failed(store, first?.runId ?? '', 'only'));
    expect((await engine.start({ ...start, businessKey: 'order-1' })).created).toBe(true);
    const retry = { namespace: 'default', runId: first?.runId ?? '', requestId: 'r' };
    await expect(engine.retry(retry)).rejects.toMatchObject({ kind: 'conflict', code: 'BUSINESS_KEY_IN_USE' });
  });

  it('accepts a run id of the caller only if it is a UUIDv7 near now', async () => {
    const { engine, store } = memoryEngine();
    const idAt = (ms: number): string => {
      const hex = ms.toString(16).padStart(12, '0');
      return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001`;
    };
    const hour = 3_600_000;
    const code = (runId: string): Promise<string> =>
      engine.start({ ...start, runId }).then(
        () => 'started',
        (error: { code: string }) => error.code,
      );
    expect(await code('nonsense')).toBe('RUN_ID_NOT_UUIDV7');
    expect(await code('6ba7b810-9dad-41d1-80b4-00c04fd430c8')).toBe('RUN_ID_NOT_UUIDV7');
    expect(await code(idAt(store.nowMs - 25 * hour))).toBe('RUN_ID_TOO_OLD');
    expect(await code(idAt(store.nowMs + 2 * hour))).toBe('RUN_ID_TOO_NEW');
    const runId = idAt(store.nowMs - 23 * hour);
    expect(await code(runId.toUpperCase())).toBe('started');
    expect(await engine.start({ ...start, runId })).toMatchObject({ runId, created: false });
    await expect(engine.start({ ...start, runId, input: '1' })).rejects.toMatchObject({ code: 'RUN_ID_IN_USE' });
  });

  it('says with a code what is wrong with a start', async () => {
    const { engine, store } = memoryEngine({
      schemas: {
        validate: (_schema, value) =>
          value === '{}' ? [] : [{ pointer: '/x', code: 'SCHEMA', message: 'must not be there' }],
      },
    });
    publish(store, JSON.stringify({ ...(JSON.parse(single) as object), id: 'strict', input: { type: 'object' } }));
    const code = (change: Partial<StartRun>): Promise<string> =>
      engine.start({ ...start, ...change }).then(
        () => 'started',
        (error: { code: string }) => error.code,
      );
    expect(await code({ definitionId: 'nobody' })).toBe('DEFINITION_NOT_FOUND');
    expect(await code({ definitionVersion: 9 })).toBe('DEFINITION_NOT_FOUND');
    expect(await code({ definitionId: 'a/b' })).toBe('DEFINITION_ID_INVALID');
    expect(await code({ definitionVersion: -1 })).toBe('NUMBER_INVALID');
    expect(await code({ input: '{' })).toBe('PAYLOAD_NOT_JSON');
    expect(await code({ input: JSON.stringify('x'.repeat(1_100_000)) })).toBe('PAYLOAD_TOO_LARGE');
    expect(await code({ idempotencyKey: '' })).toBe('NAME_INVALID');
    expect(await code({ idempotencyKey: 'a\u0000b' })).toBe('NAME_INVALID');
    expect(await code({ startNodeId: 'nobody' })).toBe('NODE_NOT_FOUND');
    expect(await code({ startedAtMs: 5 })).toBe('STARTED_AT_OUT_OF_RANGE');
    expect(await code({ definitionId: 'strict', input: '[]' })).toBe('INPUT_INVALID');
    expect(await code({ definitionId: 'strict', input: '{}' })).toBe('started');
  });

  it('starts the others when the check of one input breaks down (I14)', async () => {
    const { engine, store } = memoryEngine({
      schemas: {
        validate: () => {
          throw new RangeError('Maximum call stack size exceeded');
        },
      },
    });
    publish(store, JSON.stringify({ ...(JSON.parse(single) as object), id: 'strict', input: { type: 'object' } }));
    const outcomes = await Promise.allSettled([
      engine.start({ ...start, definitionId: 'strict' }),
      engine.start(start),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: { kind: 'internal', code: 'INPUT_CHECK_FAILED' } },
      { status: 'fulfilled' },
    ]);
  });

  it('gives the result of a run whose tasks are too large to be shown', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'single');
    await engine.report(completed(store, runId, 'only'));
    const getRun = store.getRun.bind(store);
    store.getRun = async (...args) => {
      const details = await getRun(...args);
      return details === undefined ? undefined : { ...details, payloadsLeftOut: true };
    };
    await expect(engine.getRun('default', runId, true)).rejects.toMatchObject({ code: 'RUN_TOO_LARGE' });
    expect((await engine.awaitResult('default', runId, 1_000)).run.status).toBe('SUCCEEDED');
  });

  it('decides on definitions that do not fit into its cache', async () => {
    const { engine, store } = memoryEngine({ limits: { definitionChars: 0 } });
    const runs = await Promise.all([startOf(engine, 'chain'), startOf(engine, 'single')]);
    const reports = runs.map(({ runId }, index) => completed(store, runId, index === 0 ? 'a' : 'only'));
    expect(await Promise.all(reports.map((report) => engine.report(report)))).toEqual(['APPLIED', 'APPLIED']);
  });

  it('loads a definition once for many starts, and asks again for one that was missing', async () => {
    const { engine, store } = memoryEngine();
    await Promise.all(Array.from({ length: 20 }, () => startOf(engine, 'chain')));
    await startOf(engine, 'chain');
    expect(store.statements.get('loadDefinition')).toBe(1);
    await expect(engine.start({ ...start, definitionId: 'late', definitionVersion: 1 })).rejects.toMatchObject({
      kind: 'not-found',
    });
    publish(store, JSON.stringify({ ...(JSON.parse(single) as object), id: 'late' }));
    expect((await engine.start({ ...start, definitionId: 'late', definitionVersion: 1 })).created).toBe(true);
  });
});

describe('commands to a run', () => {
  it('have their effect once for each request id, and refuse an id that was used for something else (R24)', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'single');
    const cancel = { namespace: 'default', runId, requestId: 'x', reason: 'asked' };
    const both = await Promise.all([engine.cancel(cancel), engine.cancel(cancel)]);
    expect(both.map(({ duplicate }: CommandResult) => duplicate)).toEqual([false, true]);
    await expect(engine.cancel({ ...cancel, reason: 'other' })).rejects.toMatchObject({ code: 'COMMAND_CONFLICT' });
    await expect(engine.retry({ namespace: 'default', runId, requestId: 'x' })).rejects.toMatchObject({
      code: 'COMMAND_CONFLICT',
    });
    expect((await engine.cancel({ ...cancel, requestId: 'y' })).duplicate).toBe(true);
    expect(store.outbox.filter(({ type }) => type === 'run.cancelled')).toHaveLength(1);
    await expect(engine.cancel({ ...cancel, namespace: 'other' })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('retries on the version that is deployed when the lock is held, and checks new input against it', async () => {
    const { engine, store } = memoryEngine({
      schemas: {
        validate: (_schema, value) => (value === '"bad"' ? [{ pointer: '', code: 'TYPE', message: 'no' }] : []),
      },
    });
    const { runId } = await startOf(engine, 'single');
    await engine.report(failed(store, runId, 'only'));
    publish(store, JSON.stringify({ ...(JSON.parse(single) as object), version: 2, input: { type: 'object' } }));
    const retry = { namespace: 'default', runId, requestId: 'r1', definitionVersion: 'deployed' as const };
    await expect(engine.retry({ ...retry, input: '"bad"' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(engine.retry({ ...retry, definitionVersion: 7 })).rejects.toMatchObject({
      code: 'DEFINITION_NOT_FOUND',
    });
    await expect(engine.retry({ ...retry, fromNodeId: 'nobody' })).rejects.toMatchObject({
      code: 'NODE_NOT_IN_VERSION',
    });
    expect(await engine.retry({ ...retry, input: '{"n":2}' })).toEqual({
      status: 'RUNNING',
      epoch: 2,
      duplicate: false,
    });
    expect(await engine.retry({ ...retry, input: '{ "n" : 2 }' })).toEqual({
      status: 'RUNNING',
      epoch: 2,
      duplicate: true,
    });
    expect(store.runs.get(runId)?.state.definitionVersion).toBe(2);
    expect(store.runs.get(runId)?.input).toBe('{"n":2}');
  });

  it('buffers signals before their wait, delivers them once, and knows them again', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'diamond');
    const signal = { namespace: 'default', runId, name: 'go', payload: '{"by":1}', signalId: 's1' };
    expect(await engine.signal(signal)).toEqual({ delivered: false, duplicate: false });
    expect(await engine.signal(signal)).toEqual({ delivered: false, duplicate: true });
    await expect(engine.signal({ ...signal, payload: '2' })).rejects.toMatchObject({ code: 'SIGNAL_CONFLICT' });
    await engine.report(completed(store, runId, 'top'));
    expect(store.signals.get(runId)?.get('s1')?.status).toBe('CONSUMED');
    await expect(engine.signal({ ...signal, name: '' })).rejects.toMatchObject({ code: 'NAME_INVALID' });
    await expect(engine.signal({ ...signal, payload: 'x' })).rejects.toMatchObject({ code: 'PAYLOAD_NOT_JSON' });
    const ended = await startOf(engine, 'single');
    await engine.cancel({ namespace: 'default', runId: ended.runId, requestId: 'c', reason: '' });
    await expect(engine.signal({ ...signal, runId: ended.runId })).rejects.toMatchObject({ code: 'RUN_TERMINAL' });
  });
});

describe('due rows', () => {
  it('end attempts whose lease ran out, and hand out the next one', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain');
    const { taskId, attempt } = openTask(store, runId, 'a');
    const call = { namespace: 'default', runId, taskId, attempt, owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    const { leaseId = '' } = await engine.acquire(call);
    const due = { kind: 'task' as const, namespace: 'default', runId, taskId, attempt };
    expect(await engine.fireDue([due])).toMatchObject([{ outcome: 'IGNORED' }]);
    store.nowMs += 31_000;
    const beat = { namespace: 'default', runId, taskId, attempt, leaseId, ttlMs: 0 };
    expect((await engine.heartbeat(beat)).status).toBe('LOST');
    expect(await engine.fireDue([due, due])).toMatchObject([{ outcome: 'APPLIED' }, { outcome: 'IGNORED' }]);
    expect(openTask(store, runId, 'a').attempt).toBe(2);
    expect(store.tasks.get(runId)?.get(taskId)?.state).toMatchObject({ losses: 1, failures: 0, unknownOutcome: true });
    expect((await engine.acquire(call)).status).toBe('STALE');
  });

  it('are answered one by one, and one that fails is pushed back (R21)', async () => {
    const store = storeWithDefinitions();
    const { engine } = memoryEngine(
      {
        limits: { timerFailures: 2, transientPauseMs: 1 },
        decide: (dag, run, event, env) => {
          if (event.type === 'TimerFired' && run.failure === null && store.nowMs > Date.UTC(2026, 0, 1, 2))
            throw new Error('a bug');
          return decide(dag, run, event, env);
        },
      },
      store,
    );
    const { runId } = await startOf(engine, 'diamond');
    await engine.report(completed(store, runId, 'top'));
    const [timer] = [...store.timers.values()];
    const timerId = timer?.timerId ?? '';
    const item = { kind: 'timer' as const, namespace: 'default', runId, timerId };
    expect(await engine.fireDue([item])).toMatchObject([{ outcome: 'IGNORED', reason: 'the timer is not due yet' }]);
    store.nowMs += 3 * 3_600_000;
    const gone = { ...item, timerId: runId };
    expect(await engine.fireDue([item, { ...item, runId: 'x' }, gone])).toMatchObject([
      { outcome: 'FAILED', reason: 'RUN_STUCK' },
      { outcome: 'FAILED', reason: 'ID_INVALID' },
      { outcome: 'FAILED', reason: 'RUN_STUCK' },
    ]);
    expect(store.timers.get(timerId)).toMatchObject({ failures: 1, dueAt: store.nowMs + 2_000 });
    await engine.fireDue([item]);
    expect(store.runs.get(runId)?.stuckReason).toContain('a timer fails');
  });
});

describe('asking for results', () => {
  it('finds what another process committed by one shared poll, and gives up after the time it was given', async () => {
    let now = Date.now();
    const store = storeWithDefinitions();
    const { engine: one } = memoryEngine({ now: () => (now += 1) }, store);
    const { engine: two } = memoryEngine({ newId: () => { throw new Error('starts nothing'); } }, store); // prettier-ignore
    const { runId } = await startOf(one, 'single');
    expect((await one.awaitResult('default', runId, 20)).run.status).toBe('RUNNING');
    const waiting = Promise.all([one.awaitResult('default', runId, 60_000), one.awaitResult('default', runId, 60_000)]);
    store.runs.set(runId, {
      ...required(store.runs.get(runId)),
      state: { ...required(store.runs.get(runId)).state, status: 'CANCELLED' },
    });
    expect((await waiting).map(({ run }) => run.status)).toEqual(['CANCELLED', 'CANCELLED']);
    await expect(two.awaitResult('default', runId.replace('7', '6'), 10)).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
    await one.close();
  });

  it('tells what a run came to without reading it, where all its tasks were reported', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain');
    const waiting = engine.awaitOutcome('default', runId, 60_000);
    store.getRun = () => Promise.reject(new Error('nothing is read'));
    store.statuses = () => Promise.reject(new Error('nothing is looked at'));
    for (const nodeId of ['a', 'b', 'c']) await engine.report(completed(store, runId, nodeId));
    const { run, tasks, output } = await waiting;
    expect(run).toMatchObject({ runId, namespace: 'default', status: 'SUCCEEDED', failure: null });
    expect(output).toBe(store.runs.get(runId)?.output);
    const rows = [...(store.tasks.get(runId)?.values() ?? [])];
    expect(tasks.map(({ nodeId, output: text }) => [nodeId, text])).toEqual(
      rows.map(({ state, output: text }) => [state.nodeId, text]),
    );
    await engine.close();
  });

  it('reads what a run came to, where another process reported one of its tasks', async () => {
    const store = storeWithDefinitions();
    const { engine: one } = memoryEngine({}, store);
    const { engine: two } = memoryEngine({ newId: () => { throw new Error('starts nothing'); } }, store); // prettier-ignore
    const { runId } = await startOf(one, 'chain');
    const waiting = one.awaitOutcome('default', runId, 60_000);
    await one.report(completed(store, runId, 'a'));
    const { engine: other } = memoryEngine({ newId: countedIds(store.nowMs, 2) }, store);
    await other.report(completed(store, runId, 'b'));
    await one.report(completed(store, runId, 'c'));
    const outcome = await waiting;
    expect(outcome).toEqual(await two.getRun('default', runId, true));
    await Promise.all([one.close(), two.close(), other.close()]);
  });

  it('I14: tells a waiter of another namespace nothing of the run whose id he guessed', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'single');
    const guess = expect(engine.awaitOutcome('other', runId, 60_000)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    const waiting = engine.awaitOutcome('default', runId, 60_000);
    await engine.report(completed(store, runId, 'only'));
    expect((await waiting).run.status).toBe('SUCCEEDED');
    await guess;
    await engine.close();
  });

  it('drains when it closes, and refuses what comes after', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'chain');
    const waiting = engine.awaitResult('default', runId, 60_000);
    const reported = engine.report(completed(store, runId, 'a'));
    await engine.close();
    expect(await reported).toBe('APPLIED');
    expect((await waiting).run.status).toBe('RUNNING');
    await expect(startOf(engine, 'chain')).rejects.toMatchObject({ kind: 'unavailable', code: 'SHUTTING_DOWN' });
  });
});

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('missing');
  return value;
}

it('reads the definitions that the suites use', () => {
  expect(JSON.parse(chain)).toMatchObject({ id: 'chain' });
});
