import { decide } from '@baton/core';
import type { EngineApi, TaskReport } from '../api.js';
import type { EngineOptions } from '../options.js';
import { FenceMissError, StoreError, type StartBatch } from '../ports.js';
import {
  completed,
  memoryEngine,
  openTask,
  startOf,
  storeWithDefinitions,
  withFaults,
  type Fault,
  type MemoryStore,
} from '../testing/index.js';
import { createEngine } from '../engine.js';
import { countedIds, engineOptions, failed } from '../testing/index.js';

const transient = new StoreError('transient', 'deadlock detected', '40P01');
const badData = new StoreError('data', 'invalid byte sequence', '22021');
const lostCommit = new StoreError('unknown-commit', 'the connection broke', '08006');
const away = new StoreError('unavailable', 'no such table', '42P01');

interface Setup {
  readonly engine: EngineApi;
  readonly store: MemoryStore;
  readonly faults: Fault[];
  readonly errors: string[];
}

function faultyEngine(options: Partial<EngineOptions> = {}): Setup {
  const store = storeWithDefinitions();
  const faulty = withFaults(store);
  const errors: string[] = [];
  const hooks = { onStoreError: ({ kind }: { kind: string }) => errors.push(kind) };
  const { engine } = memoryEngine({ ...options, store: faulty.store, hooks }, store);
  return { engine, store, faults: faulty.faults, errors };
}

async function startMany(engine: EngineApi, count: number, definitionId = 'single'): Promise<string[]> {
  const started = await Promise.all(Array.from({ length: count }, () => startOf(engine, definitionId)));
  return started.map(({ runId }) => runId);
}

function reportAll(engine: EngineApi, reports: readonly TaskReport[]): Promise<string[]> {
  return Promise.all(
    reports.map((report) => engine.report(report).catch((error: Error & { code: string }) => error.code)),
  );
}

function statusOf(store: MemoryStore, runId: string): string | undefined {
  return store.runs.get(runId)?.state.status;
}

describe('a batch that fails', () => {
  it('leaves no trace of the run whose fence misses, and commits the other 63 (R1)', async () => {
    const { engine, store } = faultyEngine();
    const runs = await startMany(engine, 64);
    const victim = runs[17] ?? '';
    const reports = runs.map((runId) => completed(store, runId, 'only'));
    const row = store.tasks.get(victim)?.get(reports[17]?.taskId ?? '');
    if (row === undefined) throw new Error('no row');
    row.state = { ...row.state, attempt: 9 };
    const answers = await reportAll(engine, reports);
    expect(answers.filter((answer) => answer === 'APPLIED')).toHaveLength(63);
    expect(answers[17]).toBe('RUN_STUCK');
    expect(runs.filter((runId) => statusOf(store, runId) === 'SUCCEEDED')).toHaveLength(63);
    expect(statusOf(store, victim)).toBe('RUNNING');
    expect(store.journal.get(victim)).toHaveLength(2);
    expect(store.runs.get(victim)?.stuckReason).toContain('rows');
  });

  it('is repeated after a transient error, and nothing happens twice (R5)', async () => {
    const { engine, store, faults, errors } = faultyEngine();
    const runs = await startMany(engine, 5);
    faults.push({ statement: 'write', when: 'before', error: transient, times: 3 });
    const answers = await reportAll(
      engine,
      runs.map((runId) => completed(store, runId, 'only')),
    );
    expect(answers).toEqual(runs.map(() => 'APPLIED'));
    expect(errors).toEqual(['transient', 'transient', 'transient']);
    expect(store.outbox.filter(({ type }) => type === 'run.succeeded')).toHaveLength(5);
  });

  it('tells its callers UNAVAILABLE when the database stays away, and works again after that (R8)', async () => {
    const { engine, store, faults } = faultyEngine();
    const [runId = ''] = await startMany(engine, 1);
    const report = completed(store, runId, 'only');
    faults.push({ statement: 'write', when: 'before', error: transient, times: 7 });
    await expect(engine.report(report)).rejects.toMatchObject({ kind: 'unavailable', code: 'STORE_UNAVAILABLE' });
    faults.push({ statement: 'readRuns', when: 'before', error: away, times: 1 });
    await expect(engine.report(report)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await engine.report(report)).toBe('APPLIED');
  });

  it('finds by halves the report that cannot be stored, and fails its attempt in its own transaction (R5, R8)', async () => {
    const { engine, store, faults } = faultyEngine();
    const runs = await startMany(engine, 32);
    const poison = (args: readonly unknown[]): boolean => JSON.stringify(args).includes('"output":"{\\"bad\\":1}"');
    faults.push({ statement: 'write', when: 'before', error: badData, times: 1_000, matches: poison });
    const reports = runs.map((runId, index) =>
      completed(store, runId, 'only', index === 20 ? '{"bad":1}' : '{"ok":1}'),
    );
    const answers = await reportAll(engine, reports);
    expect(answers.filter((answer) => answer === 'APPLIED')).toHaveLength(31);
    expect(answers[20]).toBe('REJECTED');
    const victim = store.runs.get(runs[20] ?? '');
    expect(victim?.state.status).toBe('FAILED');
    expect(victim?.state.failure?.code).toBe('REPORT_REJECTED');
  });

  it('keeps the order of one run when its events are taken apart (R4)', async () => {
    const { engine, store, faults } = faultyEngine();
    const { runId } = await startOf(engine, 'diamond');
    await engine.report(completed(store, runId, 'top'));
    const poison = (args: readonly unknown[]): boolean => JSON.stringify(args).includes('bad');
    faults.push({ statement: 'write', when: 'before', error: badData, times: 1_000, matches: poison });
    const signal = (signalId: string, payload: string): Promise<unknown> =>
      engine
        .signal({ namespace: 'default', runId, name: 'later', payload, signalId })
        .catch((error: { code: string }) => error.code);
    const answers = await Promise.all([signal('s1', '1'), signal('s2', '2'), signal('s3', '"bad"'), signal('s4', '4')]);
    expect(answers[2]).toBe('CONTENT_REJECTED');
    const kept = [...(store.signals.get(runId)?.values() ?? [])].sort((a, b) => a.seq - b.seq);
    expect(kept.map(({ signalId }) => signalId)).toEqual(['s1', 's2', 's4']);
  });

  it('answers from the decision when the COMMIT whose answer was lost took place (R6)', async () => {
    const { engine, store, faults } = faultyEngine();
    const runs = await startMany(engine, 3);
    faults.push({ statement: 'write', when: 'after', error: lostCommit, times: 1 });
    faults.push({ statement: 'committedRuns', when: 'before', error: away, times: 2 });
    const answers = await reportAll(
      engine,
      runs.map((runId) => completed(store, runId, 'only')),
    );
    expect(answers).toEqual(['APPLIED', 'APPLIED', 'APPLIED']);
    expect(store.outbox.filter(({ type }) => type === 'run.succeeded')).toHaveLength(3);
  });

  it('decides again when the COMMIT whose answer was lost did not take place (R6)', async () => {
    for (const statement of ['write', 'withLockedRuns'] as const) {
      const { engine, store, faults } = faultyEngine();
      const [runId = ''] = await startMany(engine, 1);
      faults.push({ statement, when: 'before', error: lostCommit, times: 1 });
      if (statement === 'write') {
        expect(await engine.report(completed(store, runId, 'only'))).toBe('APPLIED');
        expect(statusOf(store, runId)).toBe('SUCCEEDED');
      } else {
        const cancelled = await engine.cancel({ namespace: 'default', runId, requestId: 'c1', reason: 'asked' });
        expect(cancelled).toEqual({ status: 'CANCELLED', epoch: 1, duplicate: false });
      }
    }
  });

  it('takes a lock-first commit whose answer was lost for what it was (R6)', async () => {
    const { engine, store, faults } = faultyEngine();
    const [runId = ''] = await startMany(engine, 1);
    faults.push({ statement: 'withLockedRuns', when: 'after', error: lostCommit, times: 1 });
    const cancel = { namespace: 'default', runId, requestId: 'c1', reason: 'asked' };
    expect(await engine.cancel(cancel)).toEqual({ status: 'CANCELLED', epoch: 1, duplicate: false });
    expect(await engine.cancel(cancel)).toEqual({ status: 'CANCELLED', epoch: 1, duplicate: true });
    expect(store.outbox.filter(({ type }) => type === 'run.cancelled')).toHaveLength(1);
  });

  it('starts each run once when the answer to its COMMIT was lost (R6)', async () => {
    for (const when of ['before', 'after'] as const) {
      const { engine, store, faults } = faultyEngine();
      faults.push({ statement: 'writeStarts', when, error: lostCommit, times: 1 });
      const start = { namespace: 'default', definitionId: 'single', input: null, idempotencyKey: 'k' };
      const { runId, created } = await engine.start(start);
      expect(created).toBe(true);
      expect(await engine.start(start)).toMatchObject({ runId, created: false });
      expect(store.runs.size).toBe(1);
    }
  });

  it('waits alone for a run that stays locked, while the others go on (R7)', async () => {
    const { engine, store } = faultyEngine();
    const [locked = '', free = ''] = await startMany(engine, 2);
    let release: () => void = () => undefined;
    const held = store.withLockedRuns(
      [{ namespace: 'default', runId: locked }],
      () => new Promise<void>((resolve) => (release = resolve)),
    );
    const waiting = engine.report(completed(store, locked, 'only'));
    expect(await engine.report(completed(store, free, 'only'))).toBe('APPLIED');
    release();
    await held;
    expect(await waiting).toBe('APPLIED');
  });

  it('lets nobody wait with a held run in a batch that locks first; after two skips that run waits alone (R7)', async () => {
    const { engine, store } = faultyEngine();
    const runs = await startMany(engine, 4);
    const [held = ''] = runs;
    let release: () => void = () => undefined;
    const holding = store.withLockedRuns(
      [{ namespace: 'default', runId: held }],
      () => new Promise<void>((resolve) => (release = resolve)),
    );
    const cancel = (runId: string): Promise<string> =>
      engine.cancel({ namespace: 'default', runId, requestId: 'c', reason: 'asked' }).then(({ status }) => status);
    const cancels = runs.map(cancel);
    expect(await Promise.all(cancels.slice(1))).toEqual(['CANCELLED', 'CANCELLED', 'CANCELLED']);
    expect(statusOf(store, held)).toBe('RUNNING');
    release();
    await holding;
    expect(await cancels[0]).toBe('CANCELLED');
  });

  it('lets nobody wait with a run whose lock is held for long (R7)', async () => {
    const { engine, faults } = faultyEngine();
    const runs = await startMany(engine, 4);
    const [held = ''] = runs;
    const timeout = new StoreError('transient', 'canceling statement due to lock timeout', '55P03');
    const wantsHeld = ([refs]: readonly unknown[]): boolean => JSON.stringify(refs).includes(held);
    faults.push({ statement: 'withLockedRuns', when: 'before', error: timeout, times: 2, matches: wantsHeld });
    const cancel = (runId: string): Promise<unknown> =>
      engine.cancel({ namespace: 'default', runId, requestId: 'c', reason: 'asked' }).then(
        ({ status }) => status,
        (error: { code: string }) => error.code,
      );
    expect(await Promise.all(runs.map(cancel))).toEqual(['STORE_UNAVAILABLE', 'CANCELLED', 'CANCELLED', 'CANCELLED']);
    expect(await cancel(held)).toBe('CANCELLED');
  });

  it('answers the starts that are durable, whatever becomes of the others of their batch (R6)', async () => {
    const { engine, store, faults } = faultyEngine();
    const start = (idempotencyKey?: string): Promise<unknown> =>
      engine
        .start({
          namespace: 'default',
          definitionId: 'single',
          input: null,
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        })
        .then(
          ({ created }) => created,
          (error: { code: string }) => error.code,
        );
    expect(await start('taken')).toBe(true);
    const isRest = ([batch]: readonly unknown[]): boolean => (batch as StartBatch).starts.length === 1;
    faults.push({ statement: 'writeStarts', when: 'after', error: lostCommit, times: 1 });
    faults.push({ statement: 'writeStarts', when: 'before', error: away, times: 1, matches: isRest });
    expect(await Promise.all([start(), start('taken')])).toEqual([true, 'STORE_UNAVAILABLE']);
    expect(store.runs.size).toBe(2);
  });

  it('knows a start that is durable, though another process has written to its run since (R6)', async () => {
    const { engine, store, faults } = faultyEngine();
    const moveOn = (): boolean => {
      for (const run of store.runs.values()) run.lastCommit = 'of another process';
      return false;
    };
    faults.push({ statement: 'writeStarts', when: 'after', error: lostCommit, times: 1 });
    faults.push({ statement: 'committedRuns', when: 'before', error: away, times: 1, matches: moveOn });
    expect(await startOf(engine, 'single')).toMatchObject({ created: true });
    expect(store.statements.get('writeStarts')).toBe(1);
  });

  it('does not try for ever when no COMMIT of starts is ever answered (R6)', async () => {
    const { engine, faults } = faultyEngine();
    faults.push({ statement: 'writeStarts', when: 'before', error: lostCommit, times: 1_000 });
    await expect(startOf(engine, 'single')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('starts the others when a key is locked for long (R7, R24)', async () => {
    const { engine, store, faults } = faultyEngine();
    const timeout = new StoreError('transient', 'canceling statement due to lock timeout', '55P03');
    const wantsKey = (args: readonly unknown[]): boolean => JSON.stringify(args).includes('locked-key');
    faults.push({ statement: 'writeStarts', when: 'before', error: timeout, times: 1_000, matches: wantsKey });
    const keyed = (idempotencyKey: string): Promise<unknown> =>
      engine.start({ namespace: 'default', definitionId: 'single', input: null, idempotencyKey }).then(
        ({ created }) => created,
        (error: { code: string }) => error.code,
      );
    expect(await Promise.all(['a', 'locked-key', 'b', 'c'].map(keyed))).toEqual([
      true,
      'STORE_UNAVAILABLE',
      true,
      true,
    ]);
    expect(store.runs.size).toBe(3);
  });

  it('refuses what would wait behind too much (R5)', async () => {
    const { engine, store } = faultyEngine({ limits: { queuedBytes: 1_000, queuedCalls: 5 } });
    const [runId = ''] = await startMany(engine, 1, 'diamond');
    const signal = (n: number, size: number): Promise<unknown> =>
      engine
        .signal({
          namespace: 'default',
          runId,
          name: 'x',
          payload: JSON.stringify('y'.repeat(size)),
          signalId: `s${n}`,
        })
        .then(
          () => 'kept',
          (error: { code: string }) => error.code,
        );
    expect(await Promise.all([signal(1, 2_000), signal(2, 1)])).toEqual(['kept', 'OVERLOADED']);
    const many = await Promise.all(Array.from({ length: 8 }, (_x, n) => signal(10 + n, 1)));
    expect(many.filter((answer) => answer === 'OVERLOADED')).toHaveLength(3);
    expect(store.signals.get(runId)?.size).toBe(6);
  });

  it('flags a run on which the decision itself fails, and commits the others (R8)', async () => {
    const store = storeWithDefinitions();
    const stuck: string[] = [];
    const { engine } = memoryEngine(
      {
        hooks: { onStuck: (ref, reason) => stuck.push(`${ref.runId} ${reason}`) },
        decide: (dag, run, event, env) => {
          if (event.type === 'NodeCompleted' && event.output === '"boom"') throw new Error('a bug');
          return decide(dag, run, event, env);
        },
      },
      store,
    );
    const runs = await startMany(engine, 3);
    const [, victim = ''] = runs;
    const reports = runs.map((runId) => completed(store, runId, 'only', runId === victim ? '"boom"' : '1'));
    expect(await reportAll(engine, reports)).toEqual(['APPLIED', 'RUN_STUCK', 'APPLIED']);
    expect(stuck).toEqual([`${victim} a bug`]);
    expect(store.runs.get(victim)?.stuckReason).toBe('a bug');
    expect(openTask(store, victim, 'only').attempt).toBe(1);
    expect(await engine.report(completed(store, victim, 'only', '2'))).toBe('APPLIED');
    expect(store.runs.get(victim)?.stuckReason).toBeNull();
  });

  it('takes what a fault names when nobody can be named for UNAVAILABLE', async () => {
    const { engine, store, faults } = faultyEngine();
    const [runId = ''] = await startMany(engine, 1);
    faults.push({ statement: 'write', when: 'before', error: new FenceMissError(['nobody']), times: 1 });
    await expect(engine.report(completed(store, runId, 'only'))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('two engines on one store', () => {
  it('apply every event once, though each caches what the other moves on', async () => {
    const store = storeWithDefinitions();
    const engines = [1, 2, 3].map((lane) =>
      createEngine({ ...engineOptions(store, store.nowMs), newId: countedIds(store.nowMs, lane) }),
    );
    const [first] = engines;
    if (first === undefined) throw new Error('no engine');
    const runs = await startMany(first, 20, 'chain');
    for (const nodeId of ['a', 'b', 'c']) {
      const calls = runs.flatMap((runId) => {
        const report = completed(store, runId, nodeId);
        return engines.map((engine) => engine.report(report));
      });
      const outcomes = await Promise.all(calls);
      expect(outcomes.filter((outcome) => outcome === 'APPLIED')).toHaveLength(runs.length);
      expect(outcomes.filter((outcome) => outcome === 'DUPLICATE')).toHaveLength(2 * runs.length);
    }
    for (const runId of runs) {
      expect(statusOf(store, runId)).toBe('SUCCEEDED');
      expect(store.outbox.filter((row) => row.runId === runId && row.type === 'task.dispatched')).toHaveLength(3);
    }
  });

  it('give one winner to a cancel and a completion that race (B34)', async () => {
    const store = storeWithDefinitions();
    const [one, two] = [1, 2].map((lane) =>
      createEngine({ ...engineOptions(store, store.nowMs), newId: countedIds(store.nowMs, lane) }),
    );
    if (one === undefined || two === undefined) throw new Error('no engine');
    for (let round = 0; round < 50; round += 1) {
      const { runId } = await startOf(one, 'single');
      const report = completed(store, runId, 'only');
      const [reported, cancelled] = await Promise.all([
        one.report(report),
        two
          .cancel({ namespace: 'default', runId, requestId: `c${round}`, reason: 'race' })
          .catch((error: { code: string }) => error.code),
      ]);
      if (statusOf(store, runId) === 'CANCELLED') {
        expect(reported).toBe('STALE');
        expect(cancelled).toMatchObject({ status: 'CANCELLED' });
      } else {
        expect(statusOf(store, runId)).toBe('SUCCEEDED');
        expect([reported, cancelled]).toEqual(['APPLIED', 'RUN_TERMINAL']);
      }
    }
  });

  it('answer a failed report again after the run was retried without touching the new epoch (R15, B21)', async () => {
    const { engine, store } = memoryEngine();
    const { runId } = await startOf(engine, 'single');
    const report = failed(store, runId, 'only');
    expect(await engine.report(report)).toBe('APPLIED');
    await engine.retry({ namespace: 'default', runId, requestId: 'r1' });
    expect(await engine.report(report)).toBe('DUPLICATE');
    expect(openTask(store, runId, 'only').attempt).toBe(2);
  });
});
