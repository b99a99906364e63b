import type { ExistingStart, RunStartWrite, StartBatch, StartResult } from '@baton/engine';
import type { Database } from './pool.js';
import { claimKeys, identityOf, keysOf, KeyVanishedError } from './start-keys.js';
import type { StatementValues } from './statements.js';
import { effectColumns } from './write/batch.js';
import { newRunColumns, pushJournal, pushOutbox, pushRunState, pushTimer } from './write/run-rows.js';
import { pushTaskInsert } from './write/task-rows.js';

const MAX_KEY_ROUNDS = 5;

/** Starts without keys are one statement. With keys, one transaction: keys first, then the runs that won theirs (R24). */
export async function writeStarts(db: Database, batch: StartBatch): Promise<StartResult> {
  const created = new Set<string>();
  const existing = new Map<string, ExistingStart>();
  const { plain, keyed } = splitStarts(batch.starts);
  if (plain.length > 0) {
    await db.runOnce('insert-starts', encodeStarts(batch.batchId, plain));
    for (const start of plain) created.add(start.write.runId);
  }
  for (const round of keyed) {
    const result = await writeKeyed(db, batch.batchId, round);
    for (const start of result.winners) created.add(start.write.runId);
    for (const [runId, found] of result.existing) existing.set(runId, found);
  }
  return { created, existing };
}

async function writeKeyed(db: Database, batchId: string, starts: readonly RunStartWrite[]) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await db.transaction(async (session) => {
        const claimed = await claimKeys(session, starts);
        if (claimed.winners.length > 0) await session.run('insert-starts', encodeStarts(batchId, claimed.winners));
        return claimed;
      });
    } catch (error) {
      if (!(error instanceof KeyVanishedError) || tries >= MAX_KEY_ROUNDS) throw error;
    }
  }
}

interface SplitStarts {
  readonly plain: readonly RunStartWrite[];
  /** Starts that share a key go one after the other: the second reads what the first left. */
  readonly keyed: readonly (readonly RunStartWrite[])[];
}

function splitStarts(starts: readonly RunStartWrite[]): SplitStarts {
  const plain: RunStartWrite[] = [];
  const rounds: RunStartWrite[][] = [];
  const lastRound = new Map<string, number>();
  for (const start of starts) {
    const keys = keysOf(start).map(identityOf);
    if (keys.length === 0) {
      plain.push(start);
      continue;
    }
    const round = Math.max(...keys.map((key) => (lastRound.get(key) ?? -1) + 1));
    for (const key of keys) lastRound.set(key, round);
    (rounds[round] ??= []).push(start);
  }
  return { plain, keyed: rounds };
}

function encodeStarts(batchId: string, starts: readonly RunStartWrite[]): StatementValues {
  const target = { batchId, runs: newRunColumns(), ...effectColumns() };
  let ord = 0;
  for (const start of [...starts].sort((a, b) => (a.write.runId < b.write.runId ? -1 : 1))) {
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
    for (const task of write.tasks) pushTaskInsert(target.newTasks, ord, write, task);
    for (const row of write.journal) pushJournal(target.journal, ord, write, row);
    for (const row of write.outbox) pushOutbox(target.outbox, ord, write, row);
    for (const timer of write.timers) pushTimer(target.newTimers, ord, write, timer);
  }
  return target;
}
