import type { TaskDeadlines, TaskState } from '@baton/core';
import type { JournalWrite, OutboxWrite, RunRowWrite, RunStartWrite, RunWrite, TaskWrite } from '../ports.js';

/** Writes as the engine would make them, small and with every field at hand. */

export const deadlines: TaskDeadlines = {
  scheduleToStartMs: null,
  redispatchAfterMs: 300_000,
  startToCloseMs: 3_600_000,
  heartbeatMs: 30_000,
  scheduleToCloseMs: null,
};

export const runningRow: RunRowWrite = {
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

export function taskState(taskId: string, over: Partial<TaskState> = {}): TaskState {
  return {
    taskId,
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

export function dispatched(state: TaskState, over: Partial<TaskWrite> = {}): TaskWrite {
  return {
    op: 'insert',
    state,
    fence: null,
    leaseFence: null,
    queue: 'orders',
    handler: 'reserve',
    input: '{"n":9007199254740993}',
    wake: { kind: 'dispatch', deadlines, lease: null },
    ...over,
  };
}

export function ended(state: TaskState, over: Partial<TaskWrite> = {}): TaskWrite {
  return {
    op: 'update',
    state: { ...state, status: 'SUCCEEDED', reportHash: 'hash', settledSeq: 2 },
    fence: { attempt: state.attempt },
    leaseFence: null,
    queue: null,
    handler: null,
    output: '{ "ok": [] }',
    wake: { kind: 'close' },
    ...over,
  };
}

export function journalRow(seq: number, kind: JournalWrite['kind'] = 'node.succeeded'): JournalWrite {
  return {
    seq,
    kind,
    nodeId: 'reserve',
    taskId: null,
    taskKind: 'forward',
    attempt: 1,
    code: null,
    detail: null,
    epoch: 1,
  };
}

export function outboxRow(id: string, runSeq: number): OutboxWrite {
  return {
    id,
    runSeq,
    topic: 'baton.default.tasks.orders',
    type: 'task.dispatched',
    payload: '{"n":1}',
    traceparent: null,
    shard: 3,
  };
}

export function runWrite(runId: string, expectedVersion: number, over: Partial<RunWrite> = {}): RunWrite {
  return {
    namespace: 'default',
    runId,
    expectedVersion,
    run: runningRow,
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

export function startWrite(write: RunWrite, over: Partial<RunStartWrite> = {}): RunStartWrite {
  return {
    write,
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
