import fc from 'fast-check';
import type { DueItem, EngineApi, EngineError } from './api.js';
import { createEngine } from './engine.js';
import type { EngineOptions } from './options.js';
import { StoreError, type Store } from './ports.js';
import {
  countedIds,
  engineOptions,
  storeWithDefinitions,
  withFaults,
  type Fault,
  type MemoryStore,
} from './testing/index.js';

/** What happens at one moment: chosen by the property, met by whatever is open then. */
const stepArb = fc.record({
  engine: fc.nat(1),
  what: fc.constantFrom('report', 'report', 'report', 'fail', 'again', 'acquire', 'fire', 'signal', 'cancel', 'retry'),
  run: fc.nat(3),
  pick: fc.nat(5),
});
const faultArb = fc.record({
  statement: fc.constantFrom<keyof Store>(
    'write',
    'write',
    'withLockedRuns',
    'readRuns',
    'readNeeds',
    'writeStarts',
    'acquire',
  ),
  when: fc.constantFrom<Fault['when']>('before', 'after'),
  kind: fc.constantFrom<StoreError['kind']>('transient', 'unknown-commit', 'unavailable'),
});
const roundArb = fc.record({
  steps: fc.array(stepArb, { minLength: 1, maxLength: 10 }),
  faults: fc.array(faultArb, { maxLength: 3 }),
  advanceMs: fc.constantFrom(0, 500, 31_000, 3_700_000),
});

type Step = { readonly engine: number; readonly what: string; readonly run: number; readonly pick: number };

/** As callers do it: what was not acknowledged is sent again; refusals are answers. */
async function insist(send: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await send();
      return;
    } catch (error) {
      const { kind, code } = error as EngineError;
      if (code === 'RUN_STUCK' || kind === undefined || kind === 'internal') throw error;
      if (kind !== 'unavailable') return;
    }
  }
}

class World {
  readonly store: MemoryStore = storeWithDefinitions();
  readonly runs: string[] = [];
  readonly sent: Parameters<EngineApi['report']>[0][] = [];
  private readonly faults: Fault[];
  private readonly engines: readonly EngineApi[];
  private count = 0;

  private readonly granted = new Map<string, number>();

  constructor(transactions: NonNullable<EngineOptions['transactions']>) {
    const faulty = withFaults(this.store);
    this.faults = faulty.faults;
    this.engines = [1, 2].map((lane) =>
      createEngine({
        ...engineOptions(faulty.store, this.store.nowMs),
        newId: countedIds(this.store.nowMs, lane),
        limits: { transientPauseMs: 0, unknownCommitMs: 10 },
        lanes: lane,
        transactions,
      }),
    );
  }

  fault({ statement, when, kind }: { statement: keyof Store; when: Fault['when']; kind: StoreError['kind'] }): void {
    // What was done cannot have been undone: only a COMMIT's answer is lost after the fact.
    const isWrite = statement === 'write' || statement === 'withLockedRuns' || statement === 'writeStarts';
    if (when === 'after' && (!isWrite || kind !== 'unknown-commit')) return;
    if (!isWrite && kind === 'unknown-commit') return;
    this.faults.push({ statement, when, error: new StoreError(kind, `a ${kind} fault`), times: 1 });
  }

  calm(): void {
    this.faults.length = 0;
  }

  async start(): Promise<void> {
    for (const definitionId of ['chain', 'diamond', 'diamond', 'single']) {
      const idempotencyKey = `k${this.runs.length}`;
      const start = { namespace: 'default', definitionId, input: '{"n":1}', idempotencyKey };
      await insist(async () => void this.runs.push((await this.engine(this.runs.length).start(start)).runId));
    }
  }

  async take(step: Step): Promise<void> {
    const runId = this.runs[step.run] ?? '';
    const engine = this.engine(step.engine);
    const requestId = `${step.what}-${step.pick}`;
    const address = { namespace: 'default', runId };
    switch (step.what) {
      case 'signal':
        return insist(() => engine.signal({ ...address, name: 'go', payload: `${step.pick}`, signalId: requestId }));
      case 'cancel':
        return step.pick > 0 ? undefined : insist(() => engine.cancel({ ...address, requestId, reason: 'asked' }));
      case 'retry':
        return insist(() => engine.retry({ ...address, requestId }));
      case 'fire':
        return this.fire(engine);
      case 'again': {
        const report = this.sent[step.pick];
        return report === undefined ? undefined : insist(() => engine.report(report));
      }
      default:
        return this.work(engine, runId, step);
    }
  }

  private async work(engine: EngineApi, runId: string, step: Step): Promise<void> {
    const open = [...(this.store.tasks.get(runId)?.values() ?? [])].filter((row) => row.state.status === 'SCHEDULED');
    const state = open[step.pick % Math.max(1, open.length)]?.state;
    if (state === undefined) return;
    const { taskId, nodeId, attempt } = state;
    const address = { namespace: 'default', runId, taskId, attempt };
    this.count += 1;
    const callId = `call-${this.count}`;
    const { status, leaseId } = await engine.acquire({ ...address, owner: 'w', callId, ttlMs: 0, wantInput: true });
    if (status === 'GRANTED') this.granted.set(taskId, attempt);
    if (step.what === 'acquire' || status !== 'GRANTED' || leaseId === undefined) return;
    const failure = { code: 'TASK_FAILED', message: 'no' };
    const outcome =
      step.what === 'fail'
        ? ({ status: 'failed', failure } as const)
        : ({ status: 'completed', output: `{"by":${this.count}}` } as const);
    const report = { ...address, nodeId, leaseId, ...outcome };
    this.sent.push(report);
    await insist(() => engine.report(report));
  }

  async fire(engine: EngineApi = this.engine(0)): Promise<void> {
    const items: DueItem[] = [];
    for (const [runId, rows] of this.store.tasks) {
      for (const [taskId, row] of rows) {
        if (row.wakeAt === null || row.wakeAt > this.store.nowMs) continue;
        items.push({ kind: 'task', namespace: 'default', runId, taskId, attempt: row.state.attempt });
      }
    }
    for (const { timerId, runId, dueAt } of this.store.timers.values()) {
      if (dueAt <= this.store.nowMs) items.push({ kind: 'timer', namespace: 'default', runId, timerId });
    }
    await engine.fireDue(items);
  }

  private engine(n: number): EngineApi {
    const engine = this.engines[n % this.engines.length];
    if (engine === undefined) throw new Error('no engine');
    return engine;
  }

  /** What must hold whatever happened. */
  check(): void {
    for (const [runId, row] of this.store.runs) {
      const outbox = this.store.outbox.filter((message) => message.runId === runId);
      const journal = this.store.journal.get(runId) ?? [];
      expect(row.stuckReason).toBeNull();
      expect(outbox.map(({ runSeq }) => runSeq)).toEqual(outbox.map((_message, index) => index + 1));
      expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_entry, index) => index + 1));
      expect([row.state.outboxSeq, row.state.journalSeq]).toEqual([outbox.length, journal.length]);
      const dispatches = outbox
        .filter(({ type }) => type === 'task.dispatched')
        .map(({ payload }) => attemptOf(payload));
      expect(new Set(dispatches).size).toBe(dispatches.length); // I5
      const successes = journal.filter(({ kind }) => kind === 'node.succeeded' || kind === 'node.compensated');
      expect(new Set(successes.map(({ taskId }) => taskId)).size).toBe(successes.length);
    }
    expect(this.store.runs.size).toBe(this.runs.length); // I11
    for (const tasks of this.store.tasks.values()) {
      for (const { state } of tasks.values()) {
        // R17: what a worker was given and nobody reported is never taken for "not started".
        const isSilent = this.granted.get(state.taskId) === state.attempt && state.reportHash === null;
        if (isSilent && state.status === 'CANCELLED') expect(state.unknownOutcome).toBe(true);
      }
    }
  }
}

function attemptOf(payload: string): string {
  const { nodeId, item, kind, attempt } = JSON.parse(payload) as Record<string, string | number>;
  return `${nodeId}/${item}/${kind}/${attempt}`;
}

describe.each(['allowed', 'single-statement'] as const)(
  'two engines, transactions %s, on one store that fails at random',
  (transactions) => {
    it('do everything once: no gap, no second dispatch of an attempt, no second success, no stuck run', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(roundArb, { minLength: 1, maxLength: 8 }), async (rounds) => {
          const world = new World(transactions);
          await world.start();
          for (const { steps, faults, advanceMs } of rounds) {
            for (const fault of faults) world.fault(fault);
            world.store.nowMs += advanceMs;
            await Promise.all(steps.map((step) => world.take(step)));
            world.check();
          }
          world.calm();
          await world.fire();
          world.check();
          if (transactions === 'single-statement') expect(world.store.statements.get('lockRuns')).toBeUndefined(); // R30
        }),
        { numRuns: 80 },
      );
    }, 120_000);
  },
);
