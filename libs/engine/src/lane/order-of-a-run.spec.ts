import fc from 'fast-check';
import type { EngineApi } from '../api.js';
import { createEngine } from '../engine.js';
import { StoreError, type RunWrite, type Store, type WriteBatch } from '../ports.js';
import { completed, engineOptions, failed, startOf, storeWithDefinitions, withFaults } from '../testing/index.js';
import type { Fault, MemoryStore } from '../testing/index.js';

const lockHeld = new StoreError('transient', 'canceling statement due to lock timeout', '55P03');
const badData = new StoreError('data', 'invalid byte sequence', '22021');

interface Setup {
  readonly engine: EngineApi;
  readonly store: MemoryStore;
  readonly faults: Fault[];
  /** What each write statement was given, in order. */
  readonly batches: WriteBatch[];
}

/** An engine whose first write waits at a gate, so that what comes meanwhile is the next batch. */
function setup(limits: object = {}, gate: Promise<void> = Promise.resolve()): Setup {
  const store = storeWithDefinitions();
  const { store: faulty, faults } = withFaults(store);
  const batches: WriteBatch[] = [];
  const watched: Store = new Proxy(faulty, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver);
      if (name !== 'write') return member;
      return async (batch: WriteBatch): Promise<unknown> => {
        batches.push(batch);
        if (batches.length === 1) await gate;
        return faulty.write(batch);
      };
    },
  });
  const options = engineOptions(watched, store.nowMs);
  const engine = createEngine({ ...options, limits: { ...options.limits, ...limits, transientPauseMs: 0 } });
  return { engine, store, faults, batches };
}

function signal(engine: EngineApi, runId: string, signalId: string, payload = '1'): Promise<string> {
  return engine.signal({ namespace: 'default', runId, name: 'later', payload, signalId }).then(
    () => 'kept',
    (error: { code: string }) => error.code,
  );
}

/** A command that locks first and changes nothing here: it takes its run's later events out of the optimistic batch. */
function lockFirst(engine: EngineApi, runId: string, requestId: string): Promise<string> {
  return engine.retryCompensation({ namespace: 'default', runId, requestId }).then(
    ({ status }) => status,
    (error: { code: string }) => error.code,
  );
}

function arrivals(store: MemoryStore, runId: string): string[] {
  const rows = [...(store.signals.get(runId)?.values() ?? [])].sort((a, b) => a.seq - b.seq);
  return rows.map(({ signalId }) => signalId);
}

const signalsOf = (batch: WriteBatch | undefined): string[] =>
  (batch?.runs ?? []).flatMap((write: RunWrite) => write.signals.map(({ signalId }) => signalId));

/** One turn of the event loop: statements of the store go on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function aGate(): { readonly gate: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  return { gate, open };
}

describe('R4: an event that is taken out of a batch', () => {
  it('takes the later events of its run along, ahead of newer arrivals, when its run is skipped', async () => {
    const { gate, open } = aGate();
    const { engine, store, batches } = setup({ batchEvents: 4 }, gate);
    const [locked, other] = [await startOf(engine, 'diamond'), await startOf(engine, 'diamond')];
    let release: () => void = () => undefined;
    const held = store.withLockedRuns(
      [{ namespace: 'default', runId: locked.runId }],
      () => new Promise<void>((resolve) => (release = resolve)),
    );
    const early = ['s1', 's2'].map((id) => signal(engine, locked.runId, id));
    const beside = signal(engine, other.runId, 'o1');
    while (batches.length === 0) await turn();
    const newer = ['s3', 's4', 's5'].map((id) => signal(engine, locked.runId, id));
    open();
    expect(await beside).toBe('kept');
    release();
    await held;
    expect(await Promise.all([...early, ...newer])).toEqual(Array.from({ length: 5 }, () => 'kept'));
    expect(arrivals(store, locked.runId)).toEqual(['s1', 's2', 's3', 's4', 's5']);
    // What was skipped leads the next batch, and what came meanwhile fills it up.
    expect(signalsOf(batches[1])).toEqual(['s1', 's2', 's3', 's4']);
  });

  it('takes them along when it locks first', async () => {
    const { engine, store } = setup();
    const { runId } = await startOf(engine, 'diamond');
    const answers = [
      signal(engine, runId, 's1'),
      lockFirst(engine, runId, 'c1'),
      signal(engine, runId, 's2'),
      lockFirst(engine, runId, 'c2'),
      signal(engine, runId, 's3'),
    ];
    await Promise.all(answers);
    expect(arrivals(store, runId)).toEqual(['s1', 's2', 's3']);
  });

  it('takes them along when it turns out to need locks, before those that lock first by themselves', async () => {
    const { engine, store } = setup();
    const { runId } = await startOf(engine, 'diamond');
    await engine.report(completed(store, runId, 'top'));
    const failing = { ...failed(store, runId, 'left'), retryable: false };
    const answers = await Promise.all([
      signal(engine, runId, 's1'),
      // Ends the forward phase: asks for the leases of the steps beside it.
      engine.report(failing),
      signal(engine, runId, 's2'),
      engine
        .cancel({ namespace: 'default', runId, requestId: 'c', reason: 'asked' })
        .catch((error: { code: string }) => error.code),
      signal(engine, runId, 's3'),
    ]);
    expect(answers).toEqual(['kept', 'APPLIED', 'kept', 'ALREADY_COMPENSATING', 'kept']);
    expect(arrivals(store, runId)).toEqual(['s1', 's2', 's3']);
    const kinds = (store.journal.get(runId) ?? []).map(({ kind }) => kind);
    const started = kinds.indexOf('run.compensation_started');
    expect(kinds.indexOf('signal.received')).toBeLessThan(started);
    expect(kinds.slice(started).filter((kind) => kind === 'signal.received')).toHaveLength(2);
  });

  it('takes them along when it cannot be stored, and when its row holds no more in this batch', async () => {
    const { engine, store, faults } = setup();
    const { runId } = await startOf(engine, 'chain');
    const poison = (args: readonly unknown[]): boolean => JSON.stringify(args).includes('bad');
    faults.push({ statement: 'write', when: 'before', error: badData, times: 1_000, matches: poison });
    const report = completed(store, runId, 'a');
    const answers = await Promise.all([
      signal(engine, runId, 's1'),
      signal(engine, runId, 's2', '"bad"'),
      engine.report(report),
      signal(engine, runId, 's3'),
      // Begun in this batch by the report: it waits for the next one, and so does what follows it.
      engine.cancel({ namespace: 'default', runId, requestId: 'c', reason: 'asked' }).then(({ status }) => status),
      signal(engine, runId, 's4'),
    ]);
    expect(answers).toEqual(['kept', 'CONTENT_REJECTED', 'APPLIED', 'kept', 'COMPENSATING', 'kept']);
    expect(arrivals(store, runId)).toEqual(['s1', 's3', 's4']);
    const kinds = (store.journal.get(runId) ?? []).map(({ kind }) => kind);
    const at = (kind: string): number => kinds.indexOf(kind as never);
    expect(at('node.succeeded')).toBeGreaterThan(0);
    expect(at('run.cancel_requested')).toBeGreaterThan(at('node.succeeded'));
    expect(kinds.lastIndexOf('signal.received')).toBeGreaterThan(at('run.cancel_requested'));
  });

  const faultArb = fc.record({
    statement: fc.constantFrom<keyof Store>('write', 'withLockedRuns', 'readRuns'),
    error: fc.constantFrom(
      lockHeld,
      badData,
      new StoreError('transient', 'deadlock detected', '40P01'),
      new StoreError('unknown-commit', 'the connection broke', '08006'),
    ),
    when: fc.constantFrom<Fault['when']>('before', 'after'),
  });

  it('never lets a later event of its run overtake it, whatever fails on the way', async () => {
    const eventArb = fc.record({ run: fc.nat(2), lockFirst: fc.integer({ min: 0, max: 3 }).map((n) => n === 0) });
    const historyArb = fc.array(fc.array(eventArb, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        historyArb,
        fc.array(faultArb, { maxLength: 8 }),
        fc.constantFrom(2, 3, 256),
        async (history, faulty, batchEvents) => {
          const { engine, store, faults } = setup({ batchEvents, batchRows: 6, lockedRuns: 2 });
          const runs = await Promise.all([0, 1, 2].map(() => startOf(engine, 'diamond')));
          for (const { statement, error, when } of faulty) {
            // Only a COMMIT can be done and not answered.
            const isLost = error.kind === 'unknown-commit';
            if (isLost ? statement === 'readRuns' : when === 'after') continue;
            faults.push({ statement, when, error, times: 2 });
          }
          const sent = runs.map(() => [] as string[]);
          const calls: Promise<unknown>[] = [];
          for (const burst of history) {
            for (const { run, lockFirst: locks } of burst) {
              const runId = runs[run]?.runId ?? '';
              const id = `e${String(calls.length)}`;
              if (locks) calls.push(lockFirst(engine, runId, id));
              else {
                calls.push(signal(engine, runId, id));
                sent[run]?.push(id);
              }
            }
            // A few turns: the next burst meets the batch of this one at some point of its way.
            for (let turns = 0; turns < burst.length; turns += 1) await turn();
          }
          await Promise.all(calls);
          for (const [index, ids] of sent.entries()) {
            const arrived = arrivals(store, runs[index]?.runId ?? '');
            expect(arrived).toEqual(ids.filter((id) => arrived.includes(id)));
          }
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);
});
