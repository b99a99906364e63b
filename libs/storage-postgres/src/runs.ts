import type { RunState, TaskState } from '@baton/core';
import type { RunRef, StoredRun } from '@baton/engine';
import { failure, flag, integer, integerOrNull, jsonRows, text, textOrNull, word, wordOrNull } from './decode.js';
import type { Row } from './pool.js';
import { ROUTES, RUN_CAUSES, RUN_STATUSES, TASK_KINDS, TASK_STATUSES, UNDO_RESULTS } from './words.js';

/** Runs by id with their namespace, in lock order (R7): as parameters of every statement that takes runs. */
export function refColumns(refs: readonly RunRef[]): { readonly runId: string[]; readonly namespace: string[] } {
  const sorted = [...refs].sort((a, b) => (a.runId < b.runId ? -1 : 1));
  return { runId: sorted.map((ref) => ref.runId), namespace: sorted.map((ref) => ref.namespace) };
}

/** Rows of read-runs.sql. */
export function decodeRuns(rows: readonly Row[], refs: readonly RunRef[]): ReadonlyMap<string, StoredRun> {
  const namespaces = new Map(refs.map((ref) => [ref.runId, ref.namespace]));
  const runs = new Map<string, StoredRun>();
  for (const row of rows) {
    const runId = text(row[0]);
    runs.set(runId, decodeRun(row, runId, namespaces.get(runId) ?? ''));
  }
  return runs;
}

function decodeRun(row: Row, runId: string, namespace: string): StoredRun {
  const tasks = new Map<string, TaskState>();
  const leaseIds = new Map<string, string>();
  for (const columns of jsonRows(row[16])) {
    const task = decodeTask(columns);
    tasks.set(task.taskId, task);
    if (columns[17] !== null) leaseIds.set(task.taskId, text(columns[17]));
  }
  const state: RunState = {
    runId,
    namespace,
    definitionId: text(row[1]),
    definitionVersion: integer(row[2]),
    route: word(ROUTES, row[3]),
    status: word(RUN_STATUSES, row[4]),
    cause: wordOrNull(RUN_CAUSES, row[5]),
    undo: word(UNDO_RESULTS, row[6]),
    epoch: integer(row[7]),
    version: integer(row[8]),
    journalSeq: integer(row[9]),
    outboxSeq: integer(row[10]),
    bufferedSignals: integer(row[11]),
    failure: failure(row[12], row[13], row[14]),
    tasks,
  };
  return { state, leaseIds, traceparent: textOrNull(row[15]) };
}

function decodeTask(row: Row): TaskState {
  return {
    taskId: text(row[0]),
    nodeId: text(row[1]),
    item: integer(row[2]),
    kind: word(TASK_KINDS, row[3]),
    generation: integer(row[4]),
    status: word(TASK_STATUSES, row[5]),
    attempt: integer(row[6]),
    failures: integer(row[7]),
    losses: integer(row[8]),
    redispatches: integer(row[9]),
    unknownOutcome: flag(row[10]),
    cutOff: flag(row[11]),
    reportHash: textOrNull(row[12]),
    settledSeq: integerOrNull(row[13]),
    failure: failure(row[14], row[15], row[16]),
  };
}
