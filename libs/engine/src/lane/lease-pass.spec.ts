import type { EngineApi } from '../api.js';
import { createEngine } from '../engine.js';
import { hashOfRun } from '../fold/messages.js';
import { FenceMissError, StoreError, type Store } from '../ports.js';
import { completed, engineOptions, openTask, startOf, storeWithDefinitions, withFaults } from '../testing/index.js';
import type { Fault, MemoryStore } from '../testing/index.js';

interface Setup {
  readonly engine: EngineApi;
  readonly store: MemoryStore;
  readonly faults: Fault[];
  /** Statements in the order in which they were sent, with the runs that they name. */
  readonly sent: string[];
  open(): void;
}

/** An engine whose writes of events wait at a gate until it is opened. */
function setup(lanes = 1): Setup {
  const store = storeWithDefinitions();
  const { store: faulty, faults } = withFaults<Store>(store);
  const sent: string[] = [];
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const watching: Partial<Store> = {
    write: async (batch) => {
      sent.push('write');
      await gate;
      return faulty.write(batch);
    },
    acquire: (calls) => {
      sent.push(`acquire ${calls.length}`);
      return faulty.acquire(calls);
    },
    heartbeat: (calls) => {
      sent.push(`heartbeat ${calls.length}`);
      return faulty.heartbeat(calls);
    },
    withLockedRuns: (refs, work, options) => {
      sent.push(`lock ${refs.length}`);
      return faulty.withLockedRuns(refs, work, options);
    },
  };
  const watched = new Proxy(faulty, {
    get: (target, name, receiver) => watching[name as keyof Store] ?? (Reflect.get(target, name, receiver) as unknown),
  });
  return { engine: createEngine({ ...engineOptions(watched, store.nowMs), lanes }), store, faults, sent, open };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function acquire(engine: EngineApi, runId: string, task: { taskId: string; attempt: number }, callId = 'c') {
  return engine.acquire({ namespace: 'default', runId, ...task, owner: 'w', callId, ttlMs: 0, wantInput: false });
}

describe('R9: acquires and heartbeats', () => {
  it('go down the lane of their run, after the batch that is being written; another lane does not wait', async () => {
    const { engine, store, sent, open } = setup(2);
    const started = await Promise.all(Array.from({ length: 12 }, () => startOf(engine, 'chain')));
    const runs = started.map(({ runId }) => runId);
    const [busy = ''] = runs;
    const neighbour = runs.slice(1).find((runId) => hashOfRun(runId) % 2 === hashOfRun(busy) % 2) ?? '';
    const stranger = runs.find((runId) => hashOfRun(runId) % 2 !== hashOfRun(busy) % 2) ?? '';
    expect([neighbour, stranger]).not.toContain('');
    const report = engine.report(completed(store, busy, 'a'));
    await turn();
    expect(sent).toEqual(['write']);
    const waiting = acquire(engine, neighbour, openTask(store, neighbour, 'a'));
    expect(await acquire(engine, stranger, openTask(store, stranger, 'a'))).toMatchObject({ status: 'GRANTED' });
    expect(sent).toEqual(['write', 'acquire 1']);
    open();
    expect(await report).toBe('APPLIED');
    // The next task of the run is there as soon as its worker can hear of it.
    const next = acquire(engine, busy, openTask(store, busy, 'b'));
    expect((await Promise.all([waiting, next])).map(({ status }) => status)).toEqual(['GRANTED', 'GRANTED']);
  });

  it('are one statement for all tasks of a batch, without a lock; what names a task again goes into the next', async () => {
    const { engine, store, sent, open } = setup();
    open();
    const started = await Promise.all(Array.from({ length: 5 }, () => startOf(engine, 'single')));
    const tasks = started.map(({ runId }) => ({ runId, task: openTask(store, runId, 'only') }));
    const calls = tasks.map(({ runId, task }) => acquire(engine, runId, task));
    const again = tasks.slice(0, 2).map(({ runId, task }) => acquire(engine, runId, task, 'other'));
    expect((await Promise.all([...calls, ...again])).map(({ status }) => status)).toEqual([
      ...Array.from({ length: 5 }, () => 'GRANTED'),
      ...['HELD', 'HELD'],
    ]);
    expect(sent).toEqual(['acquire 5', 'acquire 2']);
  });

  it('are RETRY when the database is away, and never condemned by what another call cannot store', async () => {
    const { engine, store, faults } = setup();
    const started = await Promise.all(Array.from({ length: 4 }, () => startOf(engine, 'single')));
    const calls = (): Promise<{ status: string }>[] =>
      started.map(({ runId }, index) =>
        acquire(engine, runId, openTask(store, runId, 'only'), index === 2 ? 'bad' : 'c').catch(
          ({ code }: { code: string }) => ({ status: code }),
        ),
      );
    faults.push({ statement: 'acquire', when: 'before', error: new StoreError('transient', 'x', '40P01'), times: 1 });
    expect((await Promise.all(calls())).map(({ status }) => status)).toEqual(['RETRY', 'RETRY', 'RETRY', 'RETRY']);
    const matches = (args: readonly unknown[]): boolean => JSON.stringify(args).includes('"bad"');
    const error = new StoreError('data', 'invalid byte sequence', '22021');
    faults.push({ statement: 'acquire', when: 'before', error, times: 9, matches });
    const answers = (await Promise.all(calls())).map(({ status }) => status);
    expect(answers).toEqual(['GRANTED', 'GRANTED', 'CONTENT_REJECTED', 'GRANTED']);
  });

  it('leave decisions on leases to a locked run; a fence that misses there drops its run by name (R1)', async () => {
    const { engine, store, faults, sent } = setup();
    const started = await Promise.all(Array.from({ length: 8 }, () => startOf(engine, 'chain')));
    const due = started.map(({ runId }) => {
      const item = { kind: 'task' as const, namespace: 'default', runId };
      return { ...item, ...openTask(store, runId, 'a') };
    });
    await Promise.all(due.map(({ runId, ...task }) => acquire(engine, runId, task)));
    store.nowMs += 31_000;
    const [, , victim = { runId: '' }] = started;
    faults.push({ statement: 'withLockedRuns', when: 'before', error: new FenceMissError([victim.runId]), times: 1 });
    sent.length = 0;
    expect((await engine.fireDue(due)).map(({ outcome }) => outcome)).toEqual(started.map(() => 'APPLIED'));
    expect(sent).toEqual(['lock 8', 'lock 7', 'lock 1']);
    for (const { runId } of started) expect(openTask(store, runId, 'a').attempt).toBe(2);
  });
});
