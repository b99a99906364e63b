import type { RunRef } from '@baton/engine';
import { text } from './decode.js';
import type { Database, Session } from './pool.js';
import { refColumns } from './runs.js';

class RollBack extends Error {}

/**
 * R6: which of these runs carry the batch's id. Locking a run waits for the backend that was committing it; the lock goes
 * with the statement (R30). A run of a start in flight cannot be seen yet, let alone locked: an attempt to insert the same
 * key waits for it, and is rolled back.
 */
export async function committedRuns(
  db: Database,
  batchId: string,
  refs: readonly RunRef[],
): Promise<ReadonlySet<string>> {
  const found = await lockCommits((name, values) => db.runOnce(name, values, { waits: true }), refs);
  const unseen = refs.filter((ref) => !found.has(ref.runId));
  if (unseen.length > 0) for (const [runId, commit] of await waitForStarts(db, unseen)) found.set(runId, commit);
  return new Set([...found].filter(([, commit]) => commit === batchId).map(([runId]) => runId));
}

async function waitForStarts(db: Database, unseen: readonly RunRef[]): Promise<ReadonlyMap<string, unknown>> {
  let found: ReadonlyMap<string, unknown> = new Map();
  await db
    .transaction(async (session) => {
      const rows = await session.run('probe-runs', { runIds: refColumns(unseen).runId });
      const absent = new Set(rows.map((row) => text(row[0])));
      const appeared = unseen.filter((ref) => !absent.has(ref.runId));
      found = await lockCommits((name, values) => session.run(name, values), appeared);
      throw new RollBack();
    })
    .catch((error: unknown) => {
      if (!(error instanceof RollBack)) throw error;
    });
  return found;
}

async function lockCommits(run: Session['run'], refs: readonly RunRef[]): Promise<Map<string, unknown>> {
  if (refs.length === 0) return new Map();
  const rows = await run('lock-run-commits', { runs: refColumns(refs) });
  return new Map(rows.map((row) => [text(row[0]), row[1]]));
}
