import { decide, parseDefinition, type RunEvent, type RunState, type TaskState } from '@baton/core';
import fc from 'fast-check';
import { DefinitionCache } from '../caches/definition-cache.js';
import { RunCache } from '../caches/run-cache.js';
import { EventPass } from '../lane/event-pass.js';
import { StoreFailures } from '../lane/store-failures.js';
import type { Choice, Outcome, Work } from '../lane/work.js';
import { defaultLimits } from '../options.js';
import {
  type MemoryStore,
  countedIds,
  diamond,
  memoryEngine,
  plainTemplates,
  startOf,
  storeWithDefinitions,
} from '../testing/index.js';
import { defaultEvents } from './messages.js';

/** One input, told by what it is about: which row it meets is seen when it is decided. */
interface Op {
  readonly what: 'complete' | 'fail' | 'release' | 'defer' | 'wake' | 'signal' | 'timer' | 'cancel' | 'retry' | 'stale';
  readonly pick: number;
}

interface Round {
  /** Open tasks (by index) that are leased before the events. */
  readonly leased: readonly number[];
  readonly advanceMs: number;
  readonly ops: readonly Op[];
}

const opArb = fc.record({
  what: fc.constantFrom<Op['what']>(
    'complete', 'complete', 'complete', 'fail', 'release', 'defer', 'wake', 'wake', 'signal', 'timer', 'cancel', 'retry', 'stale',
  ), // prettier-ignore
  pick: fc.nat(3),
});
const roundsArb = fc.array(
  fc.record({
    leased: fc.array(fc.nat(4), { maxLength: 3 }),
    advanceMs: fc.constantFrom(0, 100, 1_000, 31_000, 400_000, 3_600_000),
    ops: fc.array(opArb, { minLength: 1, maxLength: 8 }),
  }),
  { minLength: 1, maxLength: 6 },
);

function passOver(store: MemoryStore, cachedStateBytes: number, mode: Mode): EventPass {
  const limits = { ...defaultLimits, cachedStateBytes };
  const random = (): number => 0.5;
  const now = (): number => store.nowMs;
  const newId = countedIds(store.nowMs, 2);
  const parsed = parseDefinition(diamond, plainTemplates);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return new EventPass({
    store,
    cache: new RunCache(limits.cachedStateBytes),
    failures: new StoreFailures({ store, limits, hooks: {}, random, now }),
    fold: { newId, events: defaultEvents },
    hooks: {},
    onOutcome: () => undefined,
    limits,
    now,
    decide,
    definitions: new DefinitionCache({ load: () => Promise.resolve({ dag: parsed.dag, size: 1 }) }, 10_000),
    deployedVersion: () => Promise.resolve(1),
    newId,
    random,
    batchRows: limits.batchRows,
    transactions: mode === 'one batch, single statements' ? 'single-statement' : 'allowed',
  });
}

/** How the events of a round reach the store: two ways in, one way out; and the one way of the embedded runtime. */
type Mode = 'one by one' | 'one batch' | 'one batch, lock first' | 'one batch, single statements';

function workOf(runId: string, op: Op, timerId: string | undefined, settle: Work['settle']): Work {
  const commandId = `command-${op.pick}`;
  return {
    namespace: 'default',
    runId,
    size: 0,
    way: op.what === 'wake' || op.what === 'cancel' || op.what === 'retry' ? 'lock-first' : 'optimistic',
    keysFirst: op.what === 'retry',
    command: op.what === 'cancel' || op.what === 'retry' ? { commandId, requestHash: op.what } : null,
    misses: 0,
    dataErrors: 0,
    choose: (seen): Choice => {
      const event = eventOf(op, seen.state, timerId);
      if (event !== null) return { kind: 'event', event };
      const decision = { kind: 'ignored', reason: 'no such row', actions: [], state: seen.state } as const;
      return { kind: 'ignored', decision };
    },
    settle,
  };
}

function wordOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'applied':
      return `applied ${outcome.decision.report ?? ''}`;
    case 'ignored':
      return `ignored ${outcome.decision.reason}`;
    case 'refused':
      return `refused ${outcome.refusal.code}`;
    case 'failed':
      return `failed ${outcome.error.code} ${outcome.error.message}`;
    case 'missing':
    case 'known-command':
      return outcome.kind;
  }
}

function eventOf({ what, pick }: Op, state: RunState, timerId: string | undefined): RunEvent | null {
  const rows = [...state.tasks.values()].sort((a, b) => keyOf(a).localeCompare(keyOf(b)));
  const open = rows.filter((row) => row.status === 'SCHEDULED' || row.status === 'BACKOFF');
  const task = (what === 'stale' ? rows : open)[pick % Math.max(1, what === 'stale' ? rows.length : open.length)];
  const commandId = `command-${pick}`;
  switch (what) {
    case 'cancel':
      return { type: 'RunCancelled', commandId, reason: 'asked' };
    case 'retry':
      return { type: 'RunRetried', commandId };
    case 'signal': {
      const name = pick === 3 ? 'nobody' : 'go';
      return {
        type: 'SignalReceived',
        signalId: `signal-${pick}`,
        name,
        payload: `{"n":${pick}}`,
        payloadHash: `${pick}`,
      };
    }
    case 'timer':
      return timerId === undefined ? null : { type: 'TimerFired', timerId };
    default:
      return task === undefined ? null : reportOf(what, task, pick);
  }
}

function reportOf(what: Op['what'], task: TaskState, pick: number): RunEvent {
  const { taskId, nodeId, attempt } = task;
  const base = { taskId, nodeId, attempt, reportHash: `${what} ${pick}` };
  switch (what) {
    case 'fail':
      return { type: 'NodeFailed', ...base, failure: { code: 'TASK_FAILED', message: 'no' }, retryable: pick !== 3 };
    case 'release':
      return { type: 'TaskReleased', ...base, started: pick > 1 };
    case 'defer':
      return { type: 'TaskDeferred', ...base, delayMs: pick * 500 };
    case 'wake':
      return { type: 'TaskWoken', taskId, attempt };
    case 'stale':
      return { type: 'NodeCompleted', ...base, attempt: Math.max(1, attempt - 1), output: '1' };
    default:
      return { type: 'NodeCompleted', ...base, output: `{"of":"${nodeId}"}` };
  }
}

function keyOf(row: TaskState): string {
  return `${row.nodeId} ${row.kind} ${row.generation}`;
}

/** All rows of the store, in an order and with ids that do not depend on how they came to be. */
function dump(store: MemoryStore, runId: string): string {
  const row = store.runs.get(runId);
  const { version: _version, tasks: _tasks, ...state } = row?.state ?? ({} as RunState);
  const tasks = [...(store.tasks.get(runId)?.values() ?? [])].sort((a, b) =>
    keyOf(a.state).localeCompare(keyOf(b.state)),
  );
  const timers = [...store.timers.values()].sort((a, b) =>
    `${a.kind}${a.nodeId}${a.dueAt}`.localeCompare(`${b.kind}${b.nodeId}${b.dueAt}`),
  );
  const text = JSON.stringify(
    {
      state,
      run: { endedAt: row?.endedAt, stuck: row?.stuckReason, input: row?.input, output: row?.output },
      tasks,
      journal: store.journal.get(runId),
      outbox: store.outbox.map(({ id: _id, ...message }) => message),
      signals: [...(store.signals.get(runId)?.values() ?? [])].sort((a, b) => a.seq - b.seq),
      timers,
      commands: [...store.commands.keys()].sort(),
    },
    null,
    1,
  );
  const ids = new Map<string, string>();
  return text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
    const known = ids.get(id) ?? `id-${ids.size}`;
    ids.set(id, known);
    return known;
  });
}

async function playRounds(rounds: readonly Round[], mode: Mode, cacheBytes: number): Promise<string[]> {
  const store = storeWithDefinitions();
  const { engine } = memoryEngine({}, store);
  const { runId } = await startOf(engine, 'diamond');
  const pass = passOver(store, cacheBytes, mode);
  const trace: string[] = [];
  for (const round of rounds) {
    await leaseSome(store, runId, round.leased);
    store.nowMs += round.advanceMs;
    const outcomes: string[] = [];
    // The timer service has read its page before these events.
    const [timerId] = [...store.timers.values()].sort((a, b) => a.dueAt - b.dueAt).map((timer) => timer.timerId);
    let works: readonly Work[] = round.ops.map((op, index) => {
      const work = workOf(runId, op, timerId, (outcome) => {
        outcomes[index] = wordOf(outcome);
      });
      return mode === 'one batch, lock first' ? { ...work, way: 'lock-first' } : work;
    });
    if (mode !== 'one by one') while (works.length > 0) works = await pass.run(works);
    else
      for (const work of works) for (let left: readonly Work[] = [work]; left.length > 0;) left = await pass.run(left);
    trace.push(JSON.stringify(outcomes), dump(store, runId), wakes(store, runId));
  }
  if (mode === 'one batch, single statements') expect(store.statements.get('lockRuns') ?? 0).toBe(0); // R30
  return trace;
}

/** What will wake the run (I6). */
function wakes(store: MemoryStore, runId: string): string {
  const status = store.runs.get(runId)?.state.status ?? 'none';
  if (status !== 'RUNNING' && status !== 'COMPENSATING') return 'ended';
  const rows = [...(store.tasks.get(runId)?.values() ?? [])];
  const woken = rows.some((row) => row.wakeAt !== null || row.state.status === 'WAITING');
  const unwoken = rows.some(
    (row) => (row.state.status === 'SCHEDULED' || row.state.status === 'BACKOFF') && row.wakeAt === null,
  );
  return (woken || store.timers.size > 0) && !unwoken ? 'will wake' : 'asleep for ever';
}

async function leaseSome(store: MemoryStore, runId: string, picks: readonly number[]): Promise<void> {
  const open = [...(store.tasks.get(runId)?.values() ?? [])]
    .filter((row) => row.state.status === 'SCHEDULED')
    .sort((a, b) => keyOf(a.state).localeCompare(keyOf(b.state)));
  for (const pick of picks) {
    const row = open[pick];
    if (row === undefined) continue;
    const { taskId } = row.state;
    await store.acquire([
      { namespace: 'default', runId, taskId, owner: 'w', callId: `${pick}`, ttlMs: 0, wantInput: false },
    ]);
  }
}

describe('the fold (R2)', () => {
  it('leaves after one batch of n events of a run the rows that n transactions leave, either way in', async () => {
    await fc.assert(
      fc.asyncProperty(roundsArb, fc.constantFrom(0, 1_000_000), async (rounds, cacheBytes) => {
        const single = await playRounds(rounds, 'one by one', 0);
        expect(await playRounds(rounds, 'one batch', cacheBytes)).toEqual(single);
        expect(await playRounds(rounds, 'one batch, lock first', cacheBytes)).toEqual(single);
        expect(await playRounds(rounds, 'one batch, single statements', cacheBytes)).toEqual(single);
      }),
      { numRuns: 150 },
    );
  }, 120_000);

  it('never leaves a live run without something that will wake it (I6)', async () => {
    await fc.assert(
      fc.asyncProperty(roundsArb, async (rounds) => {
        const trace = await playRounds(rounds, 'one batch', 1_000_000);
        expect(trace).not.toContain('asleep for ever');
        expect(trace.join('\n')).not.toMatch(/failed [A-Z_]+ /);
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});
