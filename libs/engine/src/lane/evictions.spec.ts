import { decide, parseDefinition } from '@baton/core';
import { DefinitionCache } from '../caches/definition-cache.js';
import { RunCache } from '../caches/run-cache.js';
import { defaultEvents } from '../fold/messages.js';
import { defaultLimits, type Decide } from '../options.js';
import { FenceMissError, StoreError, type Store } from '../ports.js';
import { countedIds, memoryEngine, openTask, plainTemplates, single, startOf } from '../testing/index.js';
import { storeWithDefinitions, withFaults } from '../testing/index.js';
import type { Fault, MemoryStore } from '../testing/index.js';
import { EventPass } from './event-pass.js';
import { StoreFailures } from './store-failures.js';
import type { Outcome, Work } from './work.js';

interface Bench {
  readonly store: MemoryStore;
  readonly faults: Fault[];
  readonly cache: RunCache;
  readonly runs: readonly string[];
  /** Reports the end of every run's only task, in one batch. */
  report(way?: Work['way']): Promise<readonly Outcome['kind'][]>;
  /** Signals to every run, in one batch: what the cache knows afterwards is not of ended runs. */
  signal(signalId: string, way?: Work['way']): Promise<readonly Outcome['kind'][]>;
  cached(): readonly (number | undefined)[];
}

async function bench(count = 3, decider: Decide = decide): Promise<Bench> {
  const store = storeWithDefinitions();
  const { engine } = memoryEngine({}, store);
  const runs = await Promise.all(Array.from({ length: count }, () => startOf(engine, 'single')));
  const { store: faulty, faults } = withFaults<Store>(store);
  const limits = { ...defaultLimits, transientRepeats: 1, transientPauseMs: 0, unknownCommitMs: 10 };
  const [random, now, newId] = [() => 0.5, () => store.nowMs, countedIds(store.nowMs, 2)];
  const parsed = parseDefinition(single, plainTemplates);
  if (!parsed.ok) throw new Error('unreadable');
  const cache = new RunCache(1_000_000);
  const pass = new EventPass({
    ...{ store: faulty, cache, limits, now, newId, random, decide: decider, hooks: {} },
    onOutcome: () => undefined,
    failures: new StoreFailures({ store: faulty, limits, hooks: {}, random, now }),
    fold: { newId, events: defaultEvents },
    definitions: new DefinitionCache({ load: () => Promise.resolve({ dag: parsed.dag, size: 1 }) }, 10_000),
    deployedVersion: () => Promise.resolve(1),
    batchRows: limits.batchRows,
    transactions: 'allowed',
  });
  const ids = runs.map(({ runId }) => runId);
  const send = async (way: Work['way'], event: (runId: string) => object): Promise<readonly Outcome['kind'][]> => {
    const kinds: Outcome['kind'][] = [];
    let works: readonly Work[] = ids.map((runId, index) => ({
      ...{ namespace: 'default', runId, size: 0, way, keysFirst: false, command: null, misses: 0, dataErrors: 0 },
      choose: () => ({ kind: 'event', event: event(runId) as never }),
      settle: ({ kind }) => {
        kinds[index] = kind;
      },
    }));
    while (works.length > 0) works = await pass.run(works);
    return kinds;
  };
  return {
    ...{ store, faults, cache, runs: ids },
    report: (way = 'optimistic') =>
      send(way, (runId) => {
        const { taskId, attempt } = openTask(store, runId, 'only');
        return { type: 'NodeCompleted', taskId, nodeId: 'only', attempt, output: '1', reportHash: 'h' };
      }),
    signal: (signalId, way = 'optimistic') =>
      send(way, () => ({ type: 'SignalReceived', signalId, name: 'later', payload: '1', payloadHash: 'h' })),
    cached: () => ids.map((runId) => cache.get('default', runId)?.state.version),
  };
}

const deadlock = new StoreError('transient', 'deadlock detected', '40P01');
const away = new StoreError('unavailable', 'too many connections', '53300');
const lostCommit = new StoreError('unknown-commit', 'the connection broke', '08006');

describe('R3: the cache after a batch', () => {
  it('holds the states that the batch committed', async () => {
    const b = await bench();
    await b.signal('s1');
    expect(b.cached()).toEqual([2, 2, 2]);
    await b.signal('s2');
    expect(b.cached()).toEqual([3, 3, 3]);
  });

  it.each([
    ['an error that repeats do not cure', deadlock, 2],
    ['an error of the database', away, 1],
    ['an answer to COMMIT that never comes', lostCommit, 1],
  ])('holds none of its runs after %s', async (_what, error, times) => {
    const b = await bench();
    await b.signal('s1');
    b.faults.push({ statement: 'write', when: 'before', error, times });
    if (error === lostCommit) {
      b.faults.push({ statement: 'committedRuns', when: 'before', error: away, times: 1_000 });
      const ticking = setInterval(() => (b.store.nowMs += 5), 0);
      expect(await b.signal('s2')).toEqual(['failed', 'failed', 'failed']);
      clearInterval(ticking);
    } else {
      expect(await b.signal('s2')).toEqual(['failed', 'failed', 'failed']);
    }
    expect(b.cached()).toEqual([undefined, undefined, undefined]);
  });

  it.each<[Work['way'], Fault['statement']]>([
    ['optimistic', 'write'],
    ['lock-first', 'withLockedRuns'],
  ])(
    'holds none of its runs after a COMMIT (%s) whose answer was lost, though it took place',
    async (way, statement) => {
      const b = await bench();
      await b.signal('s1');
      b.faults.push({ statement, when: 'after', error: lostCommit, times: 1 });
      expect(await b.signal('s2', way)).toEqual(['applied', 'applied', 'applied']);
      expect(b.cached()).toEqual([undefined, undefined, undefined]);
    },
  );

  it('holds none of its runs after a fence miss, not even those that were written without the one that missed', async () => {
    const b = await bench();
    await b.signal('s1');
    const victim = b.runs[1] ?? '';
    b.faults.push({ statement: 'write', when: 'before', error: new FenceMissError([victim]), times: 1 });
    b.faults.push({ statement: 'withLockedRuns', when: 'before', error: away, times: 1 });
    expect(await b.signal('s2')).toEqual(['applied', 'failed', 'applied']);
    expect(b.cached()).toEqual([undefined, undefined, undefined]);
  });

  it('holds nothing of a run that another process has moved on', async () => {
    const b = await bench();
    await b.signal('s1');
    const row = b.store.runs.get(b.runs[0] ?? '');
    if (row === undefined) throw new Error('no run');
    row.state = { ...row.state, version: 9 };
    b.faults.push({ statement: 'readRuns', when: 'before', error: away, times: 1 });
    expect(await b.signal('s2')).toEqual(['failed', 'applied', 'applied']);
    expect(b.cached()).toEqual([undefined, 3, 3]);
  });

  it('gave its states to an aborted batch, which left them as they were', async () => {
    const b = await bench();
    await b.signal('s1');
    const states = b.runs.map((runId) => b.cache.get('default', runId)?.state);
    const before = JSON.stringify(states.map((state) => [state, [...(state?.tasks ?? [])]]));
    b.faults.push({ statement: 'write', when: 'before', error: away, times: 1 });
    expect(await b.report()).toEqual(['failed', 'failed', 'failed']);
    expect(JSON.stringify(states.map((state) => [state, [...(state?.tasks ?? [])]]))).toBe(before);
    expect(await b.report()).toEqual(['applied', 'applied', 'applied']);
    expect(JSON.stringify(states.map((state) => [state, [...(state?.tasks ?? [])]]))).toBe(before);
  });

  it('holds no lease in a state, and of a row only the lease of the attempt that the state has (R9)', async () => {
    const b = await bench(1);
    const [runId = ''] = b.runs;
    const { taskId } = openTask(b.store, runId, 'only');
    await b.store.acquire([
      { namespace: 'default', runId, taskId, attempt: 1, owner: 'w', callId: 'c', ttlMs: 0, wantInput: false },
    ]);
    await b.signal('s1');
    const state = b.cache.get('default', runId)?.state;
    const names = [...(state?.tasks.values() ?? [])].flatMap((task) => Object.keys(task));
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => /lease|expires|owner|wake/i.test(name))).toEqual([]);
    expect(b.cache.leaseOf(runId, taskId, 1)).toBeDefined();
    expect(b.cache.leaseOf(runId, taskId, 2)).toBeUndefined();
  });
});
