import type {
  JournalWrite,
  OutboxWrite,
  RunStartWrite,
  RunWrite,
  TaskWrite,
  WriteBatch,
  WriteResult,
} from '@baton/engine';
import type { Row } from '../pool.js';
import { keysOf } from '../start-keys.js';
import type { StatementValues } from '../statements.js';
import { isSettled } from './columns.js';
import { isTerminal } from './run-rows.js';
import { leaseTtlMs, wakeMs } from './task-rows.js';

/**
 * The two writes that come alone most often have functions of their own in the database (`0003-single-writes.sql`), which
 * cost about half of the general statements. Here: which writes have that form, and what they send.
 *
 * Which form a write takes is decided by its content alone, and both forms leave the same rows.
 */

/** A closed task and the one after it. */
interface Step {
  readonly closed: TaskWrite;
  readonly next: TaskWrite | null;
}

/** null = this batch needs the general statement. */
export function encodeStep({ batchId, runs }: WriteBatch): StatementValues | null {
  const [write] = runs;
  if (write === undefined || runs.length > 1) return null;
  const step = stepOf(write);
  if (step === null || !hasPlainEffects(write)) return null;
  const { run } = write;
  return {
    batchId,
    run: {
      runId: write.runId,
      namespace: write.namespace,
      expectedVersion: write.expectedVersion,
      definitionVersion: run.definitionVersion,
      status: run.status,
      cause: run.cause,
      undo: run.undo,
      epoch: run.epoch,
      journalSeq: run.journalSeq,
      outboxSeq: run.outboxSeq,
      bufferedSignals: run.bufferedSignals,
      failureCode: run.failure?.code ?? null,
      failureMessage: run.failure?.message ?? null,
      failureNode: run.failure?.nodeId ?? null,
      terminal: isTerminal(run.status),
    },
    closed: closedTask(step.closed),
    task: step.next === null ? NO_TASK : dispatchedTask(step.next),
    journal: journalColumns(write.journal),
    outbox: outboxColumns(write.outbox),
    clearsTimers: write.clearTimers.length > 0,
    setsResult: write.payloads.output !== undefined,
    result: write.payloads.output ?? null,
  };
}

/** null = this start needs the general statement. The caller has made sure that it has one key or none. */
export function encodeStart(batchId: string, start: RunStartWrite): StatementValues | null {
  const { write } = start;
  const [task] = write.tasks;
  if (task === undefined || write.tasks.length > 1 || !isDispatch(task)) return null;
  if (!isPlainStart(write)) return null;
  const { run } = write;
  const [key] = keysOf(start);
  const [timer] = write.timers;
  return {
    batchId,
    run: {
      runId: write.runId,
      namespace: write.namespace,
      definitionId: start.definitionId,
      definitionVersion: run.definitionVersion,
      route: start.route,
      status: run.status,
      undo: run.undo,
      epoch: run.epoch,
      journalSeq: run.journalSeq,
      outboxSeq: run.outboxSeq,
      bufferedSignals: run.bufferedSignals,
      traceparent: start.traceparent,
      startedAtMs: start.startedAtMs,
      input: start.input,
      idempotencyKey: start.idempotencyKey,
      businessKey: start.businessKey,
    },
    key:
      key === undefined
        ? NO_KEY
        : { kind: key.kind, key: key.key, requestHash: start.requestHash, expiresInMs: key.expiresInMs },
    task: dispatchedTask(task),
    journal: journalColumns(write.journal),
    outbox: outboxColumns(write.outbox),
    timer: timer === undefined ? NO_TIMER : timerColumns(timer),
  };
}

/** The one row that a function answers: was it done? */
export function wasDone(rows: readonly Row[]): boolean {
  return rows[0]?.[0] === true;
}

export function heldAlone({ runs }: WriteBatch, isHeld: boolean): WriteResult {
  return { held: new Set(isHeld ? runs.map(({ runId }) => runId) : []) };
}

function stepOf({ tasks }: RunWrite): Step | null {
  const [first, second] = tasks;
  if (first === undefined || tasks.length > 2) return null;
  const [closed, next] = first.op === 'update' ? [first, second ?? null] : [second, first];
  if (closed === undefined || !isClose(closed)) return null;
  return next === null || isDispatch(next) ? { closed, next } : null;
}

function isClose({ op, wake, state, fence, leaseFence, input }: TaskWrite): boolean {
  return (
    op === 'update' &&
    wake.kind === 'close' &&
    isSettled(state.status) &&
    fence?.attempt === state.attempt &&
    leaseFence === null &&
    input === undefined
  );
}

/** A new row in its first state. */
function isDispatch({ op, wake, state, output }: TaskWrite): boolean {
  return (
    op === 'insert' &&
    wake.kind === 'dispatch' &&
    state.status === 'SCHEDULED' &&
    state.reportHash === null &&
    state.settledSeq === null &&
    state.failure === null &&
    (output ?? null) === null
  );
}

function hasPlainEffects(write: RunWrite): boolean {
  const { clearTimers, payloads } = write;
  return (
    write.timers.length === 0 &&
    (clearTimers.length === 0 || (clearTimers.length === 1 && clearTimers[0]?.scope === 'all')) &&
    write.signals.length === 0 &&
    write.commands.length === 0 &&
    payloads.input === undefined &&
    hasPlainRows(write)
  );
}

function isPlainStart(write: RunWrite): boolean {
  const { run } = write;
  return (
    !isTerminal(run.status) &&
    run.cause === null &&
    run.failure === null &&
    write.timers.length <= 1 &&
    (write.payloads.output ?? null) === null &&
    hasPlainRows(write)
  );
}

/** What the functions take once for all rows is the same in all of them. */
function hasPlainRows({ run, journal, outbox }: RunWrite): boolean {
  const [first] = outbox;
  return (
    journal.every(({ epoch }) => epoch === run.epoch) &&
    outbox.every(({ traceparent, shard }) => traceparent === first?.traceparent && shard === first.shard)
  );
}

function closedTask({ state, queue, handler, output }: TaskWrite) {
  const { failure } = state;
  return {
    taskId: state.taskId,
    generation: state.generation,
    status: state.status,
    attempt: state.attempt,
    failures: state.failures,
    losses: state.losses,
    redispatches: state.redispatches,
    unknownOutcome: state.unknownOutcome,
    cutOff: state.cutOff,
    reportHash: state.reportHash,
    settledSeq: state.settledSeq,
    failureCode: failure?.code ?? null,
    failureMessage: failure?.message ?? null,
    failureNode: failure?.nodeId ?? null,
    queue,
    handler,
    setOutput: output !== undefined,
    output: output ?? null,
  };
}

function dispatchedTask({ state, wake, queue, handler, input }: TaskWrite) {
  if (wake.kind !== 'dispatch') throw new Error('only a dispatched task has this form');
  const { deadlines, lease } = wake;
  return {
    taskId: state.taskId,
    nodeId: state.nodeId,
    item: state.item,
    kind: state.kind,
    generation: state.generation,
    attempt: state.attempt,
    failures: state.failures,
    losses: state.losses,
    redispatches: state.redispatches,
    unknownOutcome: state.unknownOutcome,
    cutOff: state.cutOff,
    queue,
    handler,
    input: input ?? null,
    startToCloseMs: deadlines.startToCloseMs,
    heartbeatMs: deadlines.heartbeatMs,
    scheduleToStartMs: deadlines.scheduleToStartMs,
    redispatchMs: deadlines.scheduleToStartMs === null ? deadlines.redispatchAfterMs : null,
    scheduleToCloseMs: deadlines.scheduleToCloseMs,
    wakeMs: wakeMs(wake, lease),
    leaseId: lease?.leaseId ?? null,
    leaseOwner: lease?.owner ?? null,
    leaseTtlMs: lease === null ? null : leaseTtlMs(lease, deadlines.heartbeatMs),
  };
}

type DispatchedTask = ReturnType<typeof dispatchedTask>;

const NO_TASK: Readonly<Record<keyof DispatchedTask, null>> = {
  taskId: null,
  nodeId: null,
  item: null,
  kind: null,
  generation: null,
  attempt: null,
  failures: null,
  losses: null,
  redispatches: null,
  unknownOutcome: null,
  cutOff: null,
  queue: null,
  handler: null,
  input: null,
  startToCloseMs: null,
  heartbeatMs: null,
  scheduleToStartMs: null,
  redispatchMs: null,
  scheduleToCloseMs: null,
  wakeMs: null,
  leaseId: null,
  leaseOwner: null,
  leaseTtlMs: null,
};

const NO_KEY = { kind: null, key: null, requestHash: null, expiresInMs: null };

function timerColumns({ timerId, kind, nodeId, generation, afterMs, from }: RunWrite['timers'][number]) {
  return { timerId, kind, nodeId, generation, afterMs: Math.round(afterMs), fromRunStart: from === 'run-start' };
}

const NO_TIMER: Readonly<Record<keyof ReturnType<typeof timerColumns>, null>> = {
  timerId: null,
  kind: null,
  nodeId: null,
  generation: null,
  afterMs: null,
  fromRunStart: null,
};

function journalColumns(rows: readonly JournalWrite[]) {
  return {
    seq: rows.map((row) => row.seq),
    kind: rows.map((row) => row.kind),
    nodeId: rows.map((row) => row.nodeId),
    taskId: rows.map((row) => row.taskId),
    taskKind: rows.map((row) => row.taskKind),
    attempt: rows.map((row) => row.attempt),
    code: rows.map((row) => row.code),
    detail: rows.map((row) => row.detail),
  };
}

function outboxColumns(rows: readonly OutboxWrite[]) {
  const [first] = rows;
  return {
    id: rows.map((row) => row.id),
    runSeq: rows.map((row) => row.runSeq),
    topic: rows.map((row) => row.topic),
    type: rows.map((row) => row.type),
    payload: rows.map((row) => row.payload),
    traceparent: first?.traceparent ?? null,
    shard: first?.shard ?? null,
  };
}
