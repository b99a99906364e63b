import { commandKey, type RunWrite, type WriteBatch, type WriteResult } from '@baton/engine';
import type { Row } from '../pool.js';
import { firstRow, type StatementValues } from '../statements.js';
import {
  clearTimerColumns,
  commandColumns,
  journalColumns,
  newSignalColumns,
  newTimerColumns,
  outboxColumns,
  payloadColumns,
  pushConsumedSignal,
  pushJournal,
  pushNewSignal,
  pushOutbox,
  pushPayloads,
  pushRunState,
  pushTimer,
  pushTimerClear,
  runColumns,
  signalColumns,
} from './run-rows.js';
import { pushTaskInsert, pushTaskUpdate, taskInserts, taskUpdates } from './task-rows.js';

/** A batch as parameters of the write statement. */
export interface EncodedBatch {
  /** The shortest that does: planning and starting a longer one costs more. */
  readonly statement: 'write-batch-of-one' | 'write-batch' | 'write-batch-full';
  readonly values: StatementValues;
  /** Run ids by position, in lock order. */
  readonly runIds: readonly string[];
}

export function encodeBatch(batch: WriteBatch): EncodedBatch {
  // Lock order (R7). Ids are lower-case text, so their order is the order of their bytes.
  const writes = [...batch.runs].sort((a, b) => (a.runId < b.runId ? -1 : 1));
  const target = batchColumns(batch.batchId);
  let full = false;
  let ord = 0;
  for (const write of writes) {
    ord += 1;
    const effects = pushEffects(target, ord, write);
    full ||= effects.extra;
    pushRunState(target.runs, ord, write);
    target.runs.expectedVersion.push(write.expectedVersion);
    target.runs.fencedRows.push(effects.fencedRows);
  }
  const runIds = writes.map((write) => write.runId);
  if (full) return { statement: 'write-batch-full', values: target, runIds };
  if (!isOfOne(target)) return { statement: 'write-batch', values: target, runIds };
  const { runs, tasks, newTasks, ...rest } = target;
  const one = { runs: firstRow(runs), tasks: firstRow(tasks), newTasks: firstRow(newTasks) };
  return { statement: 'write-batch-of-one', values: { ...rest, ...one }, runIds };
}

/** One run whose step ends and whose next begins: what a report is, when it comes alone. */
function isOfOne({ runs, tasks, newTasks }: ReturnType<typeof batchColumns>): boolean {
  return runs.ord.length === 1 && tasks.ord.length <= 1 && newTasks.ord.length <= 1;
}

/** `flags` is a boolean array as text: {t,f,t}. */
export function decodeHeld(rows: readonly Row[], runIds: readonly string[]): WriteResult {
  const flags = String(rows[0]?.[0] ?? '');
  return { held: new Set(runIds.filter((_id, index) => flags[1 + 2 * index] === 't')) };
}

export function batchColumns(batchId: string) {
  return {
    batchId,
    runs: runColumns(),
    ...effectColumns(),
    tasks: taskUpdates(),
    newSignals: newSignalColumns(),
    signals: signalColumns(),
    clearTimers: clearTimerColumns(),
    commands: commandColumns(),
    payloads: payloadColumns(),
  };
}

/** What starts write too. */
export function effectColumns() {
  return {
    newTasks: taskInserts(),
    journal: journalColumns(),
    outbox: outboxColumns(),
    newTimers: newTimerColumns(),
  };
}

interface PushedEffects {
  /** Rows that the statement must find as the decision saw them (R1). */
  readonly fencedRows: number;
  /** Something that only the long statement writes. */
  readonly extra: boolean;
}

function pushEffects(target: ReturnType<typeof batchColumns>, ord: number, write: RunWrite): PushedEffects {
  let fencedRows = 0;
  for (const task of write.tasks) {
    if (task.op === 'insert') pushTaskInsert(target.newTasks, ord, write, task);
    else {
      pushTaskUpdate(target.tasks, ord, write, task);
      fencedRows += 1;
    }
  }
  for (const row of write.journal) pushJournal(target.journal, ord, write, row);
  for (const row of write.outbox) pushOutbox(target.outbox, ord, write, row);
  for (const signal of write.signals) {
    if (signal.op !== 'consume') pushNewSignal(target.newSignals, ord, write, signal);
    else {
      pushConsumedSignal(target.signals, ord, write, signal);
      fencedRows += 1;
    }
  }
  for (const timer of write.timers) pushTimer(target.newTimers, ord, write, timer);
  for (const clear of write.clearTimers) pushTimerClear(target.clearTimers, ord, write, clear);
  for (const command of write.commands) pushCommand(target, ord, write, command);
  if (pushPayloads(target.payloads, ord, write)) fencedRows += 1;
  return { fencedRows, extra: hasExtras(write) };
}

function pushCommand(
  target: ReturnType<typeof batchColumns>,
  ord: number,
  write: RunWrite,
  command: RunWrite['commands'][number],
): void {
  target.commands.ord.push(ord);
  target.commands.runId.push(write.runId);
  target.commands.namespace.push(write.namespace);
  target.commands.key.push(commandKey(write.runId, command.commandId));
  target.commands.requestHash.push(command.requestHash);
}

function hasExtras(write: RunWrite): boolean {
  return (
    write.signals.length > 0 ||
    write.timers.length > 0 ||
    write.clearTimers.length > 0 ||
    write.commands.length > 0 ||
    write.payloads.input !== undefined ||
    write.payloads.output !== undefined
  );
}
