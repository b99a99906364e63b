import type { ExistingStart, RunStartWrite, StartBatch, StartResult } from '@baton/engine';
import type { Database, Session } from './pool.js';
import {
  claimKeys,
  identityOf,
  keyColumns,
  keysOf,
  KeyVanishedError,
  sortKeys,
  type ClaimedKeys,
} from './start-keys.js';
import type { StatementValues } from './statements.js';
import { decodeHeld, effectColumns } from './write/batch.js';
import { newRunColumns, pushJournal, pushOutbox, pushRunState, pushTimer } from './write/run-rows.js';
import { encodeStart, wasDone } from './write/single.js';
import { pushTaskInsert } from './write/task-rows.js';

export const MAX_KEY_ROUNDS = 5;

/**
 * Starts with one key or none are one statement, which writes the runs whose key was free. Where a key is taken, or
 * several must be won together, one transaction: keys first, then the runs that won theirs (R24).
 *
 * An error means that nothing of the batch is committed (or, for `unknown-commit`, that `committedRuns` knows). What
 * fails after something was committed stays without an answer: its caller tries again, with its key.
 */
export async function writeStarts(db: Database, batch: StartBatch): Promise<StartResult> {
  const simple = batch.starts.filter(isSimple);
  const created = new Set(await writeSimple(db, batch.batchId, simple));
  const existing = new Map<string, ExistingStart>();
  const contested = batch.starts.filter((start) => !created.has(start.write.runId));
  for (const round of roundsOf(contested)) {
    try {
      const result = await writeContested(db, batch.batchId, round);
      for (const start of result.winners) created.add(start.write.runId);
      for (const [runId, found] of result.existing) existing.set(runId, found);
    } catch (error) {
      if (created.size === 0) throw error;
      break;
    }
  }
  return { created, existing };
}

function isSimple(start: RunStartWrite): boolean {
  return keysOf(start).length <= 1 && !start.clientRunId;
}

async function writeSimple(
  db: Database,
  batchId: string,
  starts: readonly RunStartWrite[],
): Promise<ReadonlySet<string>> {
  if (starts.length === 0) return new Set();
  const waits = starts.some((start) => keysOf(start).length > 0);
  const [first] = starts;
  const single = starts.length === 1 && first !== undefined ? encodeStart(batchId, first) : null;
  if (single !== null) {
    const isDone = wasDone(await db.runOnce('write-start', single, { waits }));
    return new Set(isDone ? starts.map((start) => start.write.runId) : []);
  }
  const { values, runIds } = encodeStarts(batchId, starts, true);
  return decodeHeld(await db.runOnce('insert-starts', values, { waits }), runIds).held;
}

/** On the caller's transaction. false = its key is taken, or there is more than one to win. */
export async function insertUncontested(session: Session, batchId: string, start: RunStartWrite): Promise<boolean> {
  if (!isSimple(start)) return false;
  const single = encodeStart(batchId, start);
  if (single !== null) return wasDone(await session.run('write-start', single));
  const { values, runIds } = encodeStarts(batchId, [start], true);
  return decodeHeld(await session.run('insert-starts', values), runIds).held.size > 0;
}

/** Keys first, then the runs that won theirs (R24). */
export async function claimAndInsert(
  session: Session,
  batchId: string,
  starts: readonly RunStartWrite[],
): Promise<ClaimedKeys> {
  const claimed = await claimKeys(session, starts);
  if (claimed.winners.length > 0) {
    await session.run('insert-starts', encodeStarts(batchId, claimed.winners, false).values);
  }
  return claimed;
}

async function writeContested(db: Database, batchId: string, starts: readonly RunStartWrite[]) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await db.transaction((session) => claimAndInsert(session, batchId, starts));
    } catch (error) {
      if (!(error instanceof KeyVanishedError) || tries >= MAX_KEY_ROUNDS) throw error;
    }
  }
}

/** Starts that share a key go one after the other: the second reads what the first left. */
function roundsOf(starts: readonly RunStartWrite[]): readonly (readonly RunStartWrite[])[] {
  const rounds: RunStartWrite[][] = [];
  const nextRound = new Map<string, number>();
  for (const start of starts) {
    const keys = keysOf(start).map(identityOf);
    const round = Math.max(0, ...keys.map((key) => nextRound.get(key) ?? 0));
    for (const key of keys) nextRound.set(key, round + 1);
    (rounds[round] ??= []).push(start);
  }
  return rounds;
}

interface EncodedStarts {
  readonly values: StatementValues;
  /** By position. */
  readonly runIds: readonly string[];
}

function encodeStarts(batchId: string, starts: readonly RunStartWrite[], withKeys: boolean): EncodedStarts {
  const sorted = [...starts].sort((a, b) => (a.write.runId < b.write.runId ? -1 : 1));
  const keys = withKeys ? sortKeys(sorted.flatMap(keysOf)) : [];
  const target = { batchId, runs: newRunColumns(), keys: keyColumns(keys), ...effectColumns() };
  const bringing = new Set(keys.map((key) => key.start));
  let ord = 0;
  for (const start of sorted) {
    ord += 1;
    const { write } = start;
    pushRunState(target.runs, ord, write);
    target.runs.definitionId.push(start.definitionId);
    target.runs.route.push(start.route);
    target.runs.traceparent.push(start.traceparent);
    target.runs.startedAtMs.push(start.startedAtMs);
    target.runs.input.push(start.input);
    target.runs.output.push(write.payloads.output ?? null);
    target.runs.idempotencyKey.push(start.idempotencyKey);
    target.runs.businessKey.push(start.businessKey);
    target.runs.bringsKey.push(bringing.has(start));
    for (const task of write.tasks) pushTaskInsert(target.newTasks, ord, write, task);
    for (const row of write.journal) pushJournal(target.journal, ord, write, row);
    for (const row of write.outbox) pushOutbox(target.outbox, ord, write, row);
    for (const timer of write.timers) pushTimer(target.newTimers, ord, write, timer);
  }
  return { values: target, runIds: sorted.map((start) => start.write.runId) };
}
