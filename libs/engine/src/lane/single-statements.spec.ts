import type { EngineApi } from '../api.js';
import { StoreError, type WriteBatch } from '../ports.js';
import { chain, completed, diamond, failed, memoryEngine, MemoryStore, openTask } from '../testing/index.js';
import { publish, single, startOf, withFaults } from '../testing/index.js';

type Step = () => Promise<unknown>;

/** Lets a test act where another process would: after the facts were read, or before a write arrives. */
class OverlapStore extends MemoryStore {
  afterLeases: Step[] = [];
  beforeWrite: Step[] = [];
  readonly written: WriteBatch[] = [];

  constructor() {
    super();
    for (const text of [chain, diamond, single]) publish(this, text);
  }

  override async readNeeds(...args: Parameters<MemoryStore['readNeeds']>) {
    const loaded = await super.readNeeds(...args);
    const asked = args[0].some(({ needs }) => (needs.leases?.length ?? 0) > 0);
    if (asked) await this.afterLeases.shift()?.();
    return loaded;
  }

  override async write(batch: WriteBatch) {
    await this.beforeWrite.shift()?.();
    this.written.push(batch);
    return super.write(batch);
  }

  count(statement: string): number {
    return this.statements.get(statement) ?? 0;
  }
}

interface Bench {
  readonly engine: EngineApi;
  readonly store: OverlapStore;
}

function bench(over: Parameters<typeof memoryEngine>[0] = {}): Bench {
  const store = new OverlapStore();
  const { engine } = memoryEngine(
    { transactions: 'single-statement', limits: { transientPauseMs: 0 }, ...over },
    store,
  );
  return { engine, store };
}

function acquire({ engine, store }: Bench, runId: string, nodeId: string) {
  const { taskId, attempt } = openTask(store, runId, nodeId);
  const call = { namespace: 'default', runId, taskId, attempt, owner: 'w', callId: nodeId, ttlMs: 0, wantInput: false };
  return engine.acquire(call).then(({ status }) => status);
}

/** On the store itself, as another process does it: the lane of this one is busy. */
function acquireElsewhere(store: OverlapStore, runId: string, nodeId: string) {
  const { taskId, attempt } = openTask(store, runId, nodeId);
  const call = { namespace: 'default', runId, taskId, attempt, owner: 'x', callId: 'x', ttlMs: 0, wantInput: false };
  return store.acquire([call]).then(([answer]) => answer?.status);
}

async function atDiamond(made: Bench): Promise<string> {
  const { runId } = await startOf(made.engine, 'diamond');
  await made.engine.report(completed(made.store, runId, 'top'));
  made.store.statements.clear();
  return runId;
}

function stateOf(store: OverlapStore, runId: string, nodeId: string) {
  for (const { state } of store.tasks.get(runId)?.values() ?? []) {
    if (state.nodeId === nodeId && state.kind === 'forward') return state;
  }
  throw new Error(`no task of ${nodeId}`);
}

const forGood = (store: OverlapStore, runId: string) => ({ ...failed(store, runId, 'right'), retryable: false });

describe('a failure that cuts others off, without a transaction (R30)', () => {
  it('is decided again when a worker was given the other task meanwhile, and its undo waits (R18)', async () => {
    const made = bench();
    const { engine, store } = made;
    const runId = await atDiamond(made);
    store.afterLeases = [async () => expect(await acquireElsewhere(store, runId, 'left')).toBe('GRANTED')];
    expect(await engine.report(forGood(store, runId))).toBe('APPLIED');
    expect(stateOf(store, runId, 'left')).toMatchObject({ status: 'SCHEDULED', cutOff: true });
    expect([store.count('write'), store.count('lockRuns')]).toEqual([2, 0]);
  });

  it('comes first: the worker is refused, and there is nothing to undo (R17)', async () => {
    const made = bench();
    const { engine, store } = made;
    const runId = await atDiamond(made);
    const { taskId, attempt } = openTask(store, runId, 'left');
    expect(await engine.report(forGood(store, runId))).toBe('APPLIED');
    const call = { namespace: 'default', runId, taskId, attempt, owner: 'w', callId: 'c', ttlMs: 0, wantInput: false };
    expect((await engine.acquire(call)).status).toBe('STALE');
    expect(stateOf(store, runId, 'left')).toMatchObject({ status: 'CANCELLED', unknownOutcome: false });
    expect([store.count('write'), store.count('lockRuns')]).toEqual([1, 0]);
  });

  it('repeats in its write every lease that it saw', async () => {
    const made = bench();
    const { engine, store } = made;
    const runId = await atDiamond(made);
    await acquire(made, runId, 'left');
    await engine.report(forGood(store, runId));
    const { taskId } = openTask(store, runId, 'left');
    const written = store.written.at(-1)?.runs[0]?.tasks.find(({ state }) => state.taskId === taskId);
    const leaseId = store.tasks.get(runId)?.get(taskId)?.lease?.leaseId;
    expect(written?.leaseFence).toEqual({ leaseId, passed: null });
  });
});

describe('a wake-up without a transaction (R30)', () => {
  it('does not take a task from a worker who was given it meanwhile (R12)', async () => {
    const made = bench();
    const { engine, store } = made;
    const { runId } = await startOf(engine, 'single');
    const { taskId, attempt } = openTask(store, runId, 'only');
    store.nowMs += 400_000;
    store.afterLeases = [async () => expect(await acquireElsewhere(store, runId, 'only')).toBe('GRANTED')];
    const [fired] = await engine.fireDue([{ kind: 'task', namespace: 'default', runId, taskId, attempt }]);
    expect(fired?.outcome).toBe('IGNORED');
    expect(stateOf(store, runId, 'only').attempt).toBe(1);
    expect(store.count('lockRuns')).toBe(0);
  });

  it('ends a lost lease, and repeats that its time is over (R9)', async () => {
    const made = bench();
    const { engine, store } = made;
    const { runId } = await startOf(engine, 'chain');
    const { taskId, attempt } = openTask(store, runId, 'a');
    await acquire(made, runId, 'a');
    const leaseId = store.tasks.get(runId)?.get(taskId)?.lease?.leaseId;
    store.nowMs += 31_000;
    const due = { kind: 'task', namespace: 'default', runId, taskId, attempt } as const;
    expect(await engine.fireDue([due])).toEqual([{ outcome: 'APPLIED' }]);
    expect(store.written.at(-1)?.runs[0]?.tasks[0]?.leaseFence).toEqual({ leaseId, passed: 'lease' });
    expect(stateOf(store, runId, 'a')).toMatchObject({ status: 'SCHEDULED', attempt: 2, losses: 1 });
    expect(store.count('lockRuns')).toBe(0);
  });
});

describe('a run that others write on (R30)', () => {
  /** What another process commits just before our write arrives. */
  const moveOn = (store: OverlapStore, runId: string) => () => {
    const row = store.runs.get(runId);
    if (row !== undefined) row.state = { ...row.state, version: row.state.version + 1 };
    return Promise.resolve();
  };

  it('is read and decided again after any number of misses, and never locked', async () => {
    const { engine, store } = bench();
    const { runId } = await startOf(engine, 'single');
    store.beforeWrite = Array.from({ length: 7 }, () => moveOn(store, runId));
    expect(await engine.report(completed(store, runId, 'only'))).toBe('APPLIED');
    expect([store.count('write'), store.count('lockRuns')]).toEqual([8, 0]);
  });

  it('is given up in the end: a caller hears UNAVAILABLE, a wake-up is pushed (R21)', async () => {
    const made = bench();
    const { engine, store } = made;
    const { runId } = await startOf(engine, 'single');
    const report = completed(store, runId, 'only');
    store.beforeWrite = Array.from({ length: 1_000 }, () => moveOn(store, runId));
    await expect(engine.report(report)).rejects.toMatchObject({ kind: 'unavailable', code: 'RUN_BUSY' });
    await acquire(made, runId, 'only');
    store.nowMs += 31_000;
    const due = { kind: 'task', namespace: 'default', runId, taskId: report.taskId, attempt: 1 } as const;
    expect(await engine.fireDue([due])).toEqual([{ outcome: 'FAILED', reason: 'RUN_BUSY' }]);
    expect([store.count('pushWake'), store.count('lockRuns')]).toEqual([1, 0]);
  });

  it('keeps the others of a batch waiting no longer than the statement (R7)', async () => {
    const { engine, store } = bench();
    const runs = [await startOf(engine, 'single'), await startOf(engine, 'single')];
    store.beforeWrite = [moveOn(store, runs[0]!.runId)];
    const reports = runs.map(({ runId }) => engine.report(completed(store, runId, 'only')));
    expect(await Promise.all(reports)).toEqual(['APPLIED', 'APPLIED']);
    expect(store.written.slice(-2).map(({ runs: written }) => written.length)).toEqual([2, 1]);
  });

  it('goes one by one where a row is locked for long, not lock first', async () => {
    const store = new OverlapStore();
    const faulty = withFaults(store);
    const { engine } = memoryEngine({ transactions: 'single-statement', store: faulty.store }, store);
    const runs = [await startOf(engine, 'single'), await startOf(engine, 'single')];
    const error = new StoreError('unavailable', 'lock timeout', '55P03');
    faulty.faults.push({ statement: 'write', when: 'before', error, times: 1 });
    const reports = runs.map(({ runId }) => engine.report(completed(store, runId, 'only')));
    expect(await Promise.all(reports)).toEqual(['APPLIED', 'APPLIED']);
    expect([store.count('write'), store.count('lockRuns')]).toEqual([2, 0]);
  });
});

describe('commands without a transaction (R30)', () => {
  const retryOf = (runId: string, requestId = 'r1') => ({ namespace: 'default', runId, requestId });

  async function failedRun(engine: EngineApi, store: OverlapStore, businessKey?: string): Promise<string> {
    const key = businessKey === undefined ? {} : { businessKey };
    const { runId } = await engine.start({ namespace: 'default', definitionId: 'single', input: null, ...key });
    await engine.report(failed(store, runId, 'only'));
    return runId;
  }

  it('a cancel is decided on the leases that it sees', async () => {
    const made = bench();
    const { engine, store } = made;
    const runId = await atDiamond(made);
    store.afterLeases = [() => acquireElsewhere(store, runId, 'left')];
    expect(await engine.cancel({ ...retryOf(runId), reason: 'asked' })).toMatchObject({ status: 'COMPENSATING' });
    expect(stateOf(store, runId, 'left')).toMatchObject({ status: 'SCHEDULED', cutOff: true });
    expect(store.count('lockRuns')).toBe(0);
  });

  it('a retry of a run without a business key needs no transaction; one with a key holds it (R24)', async () => {
    const { engine, store } = bench();
    const plain = await failedRun(engine, store);
    expect(await engine.retry(retryOf(plain))).toMatchObject({ status: 'RUNNING', epoch: 2 });
    expect(await engine.retry(retryOf(plain))).toMatchObject({ epoch: 2, duplicate: true });
    expect(store.count('lockRuns')).toBe(0);
    const keyed = await failedRun(engine, store, 'order-1');
    expect(await engine.retry(retryOf(keyed))).toMatchObject({ status: 'RUNNING', epoch: 2 });
    expect(store.count('lockRuns')).toBe(1);
  });

  it('what follows a keyed retry in one batch goes after it, without its transaction (R4)', async () => {
    const { engine, store } = bench();
    const runId = await failedRun(engine, store, 'order-1');
    const signal = { namespace: 'default', runId, name: 'nobody', payload: '1', signalId: 's1' };
    const [retried, signalled] = await Promise.allSettled([engine.retry(retryOf(runId)), engine.signal(signal)]);
    expect(retried).toMatchObject({ status: 'fulfilled', value: { epoch: 2 } });
    expect(signalled.status).toBe('fulfilled');
    expect([store.count('lockRuns'), store.count('lockedWrite')]).toEqual([1, 1]);
  });
});
