import { randomBytes, randomUUID } from 'node:crypto';
import type { TaskDeadlines, TaskState } from '@baton/core';
import type {
  AcquireLease,
  JournalWrite,
  OutboxWrite,
  RunRowWrite,
  RunStartWrite,
  RunWrite,
  Store,
  TaskWrite,
} from '@baton/engine';

/** Writes as the engine would make them, small and with every field at hand. */

export const NAMESPACE = 'default';

/** A UUIDv7 of now, or of another instant. */
export function newRunId(atMs = Date.now()): string {
  const hex = atMs.toString(16).padStart(12, '0') + '7' + randomBytes(10).toString('hex').slice(1);
  const variant = hex.slice(0, 16) + '8' + hex.slice(17);
  return [
    variant.slice(0, 8),
    variant.slice(8, 12),
    variant.slice(12, 16),
    variant.slice(16, 20),
    variant.slice(20),
  ].join('-');
}

export const DEADLINES: TaskDeadlines = {
  scheduleToStartMs: null,
  redispatchAfterMs: 300_000,
  startToCloseMs: 3_600_000,
  heartbeatMs: 30_000,
  scheduleToCloseMs: null,
};

export const RUNNING: RunRowWrite = {
  definitionVersion: 1,
  status: 'RUNNING',
  cause: null,
  undo: 'NONE',
  epoch: 1,
  journalSeq: 1,
  outboxSeq: 1,
  bufferedSignals: 0,
  failure: null,
};

export function taskState(over: Partial<TaskState> = {}): TaskState {
  return {
    taskId: newRunId(),
    nodeId: 'reserve',
    item: 0,
    kind: 'forward',
    generation: 1,
    status: 'SCHEDULED',
    attempt: 1,
    failures: 0,
    losses: 0,
    redispatches: 0,
    unknownOutcome: false,
    cutOff: false,
    reportHash: null,
    settledSeq: null,
    failure: null,
    ...over,
  };
}

export function dispatchedTask(state: TaskState, over: Partial<TaskWrite> = {}): TaskWrite {
  return {
    op: 'insert',
    state,
    fence: null,
    leaseFence: null,
    queue: 'orders',
    handler: 'reserve-stock',
    input: '{"n":1}',
    output: null,
    wake: { kind: 'dispatch', deadlines: DEADLINES, lease: null },
    ...over,
  };
}

/** Ends the task's attempt: SUCCEEDED. */
export function completedTask(state: TaskState, over: Partial<TaskWrite> = {}): TaskWrite {
  return {
    op: 'update',
    state: { ...state, status: 'SUCCEEDED', reportHash: 'hash', settledSeq: 2 },
    fence: { attempt: state.attempt },
    leaseFence: null,
    queue: null,
    handler: null,
    output: '{"ok":true}',
    wake: { kind: 'close' },
    ...over,
  };
}

export function changedTask(state: TaskState, over: Partial<TaskWrite>): TaskWrite {
  return { ...completedTask(state), output: null, state, ...over };
}

export function journalRow(seq: number, over: Partial<JournalWrite> = {}): JournalWrite {
  return {
    seq,
    kind: 'node.succeeded',
    nodeId: 'reserve',
    taskId: null,
    taskKind: 'forward',
    attempt: 1,
    code: null,
    detail: null,
    epoch: 1,
    ...over,
  };
}

export function outboxRow(runSeq: number, over: Partial<OutboxWrite> = {}): OutboxWrite {
  return {
    id: newRunId(),
    runSeq,
    topic: 'baton.default.tasks.orders',
    type: 'task.dispatched',
    payload: '{"n":1}',
    traceparent: null,
    shard: 3,
    ...over,
  };
}

export function runWrite(runId: string, expectedVersion: number, over: Partial<RunWrite> = {}): RunWrite {
  return {
    namespace: NAMESPACE,
    runId,
    expectedVersion,
    run: RUNNING,
    tasks: [],
    journal: [],
    outbox: [],
    signals: [],
    timers: [],
    clearTimers: [],
    commands: [],
    payloads: {},
    ...over,
  };
}

export function startWrite(
  runId: string,
  over: Partial<RunStartWrite> = {},
  write: Partial<RunWrite> = {},
): RunStartWrite {
  return {
    write: runWrite(runId, 0, write),
    definitionId: 'order',
    route: 'kafka',
    input: '{"order":7}',
    startedAtMs: null,
    traceparent: null,
    requestHash: 'request',
    idempotencyKey: null,
    businessKey: null,
    clientRunId: false,
    ...over,
  };
}

export interface StartedRun {
  readonly runId: string;
  readonly task: TaskState;
}

/** Runs with one dispatched task each. */
export async function startRuns(
  store: Store,
  count: number,
  task: Partial<TaskWrite> = {},
): Promise<readonly StartedRun[]> {
  const runs = Array.from({ length: count }, () => ({ runId: newRunId(), task: taskState() }));
  await store.writeStarts({
    batchId: randomUUID(),
    starts: runs.map((run) =>
      startWrite(
        run.runId,
        {},
        {
          tasks: [dispatchedTask(run.task, task)],
          journal: [journalRow(1, { kind: 'run.started' })],
          outbox: [outboxRow(1)],
        },
      ),
    ),
  });
  return runs;
}

/** A report: the task ends, the next one is dispatched, two journal rows, one message. */
export function reportWrite(run: StartedRun, expectedVersion = 1): RunWrite {
  return runWrite(run.runId, expectedVersion, {
    run: { ...RUNNING, journalSeq: 3, outboxSeq: 2 },
    tasks: [completedTask(run.task), dispatchedTask(taskState({ nodeId: 'charge' }))],
    journal: [journalRow(2, { taskId: run.task.taskId }), journalRow(3, { kind: 'task.scheduled', nodeId: 'charge' })],
    outbox: [outboxRow(2)],
  });
}

export function acquireCall(run: StartedRun, over: Partial<AcquireLease> = {}): AcquireLease {
  return {
    namespace: NAMESPACE,
    runId: run.runId,
    taskId: run.task.taskId,
    attempt: 1,
    owner: 'worker-1',
    callId: randomUUID(),
    ttlMs: 0,
    wantInput: false,
    ...over,
  };
}

export const refOf = (runId: string) => ({ namespace: NAMESPACE, runId });
