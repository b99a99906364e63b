import type { HistoryDatabase } from './history-database.js';

/**
 * All rows of runs, as text, by run and table. What differs on purpose is left out: ids that the database or the
 * engine draws for a row that nothing points at (leases, outbox), the database's own order numbers, and what belongs to
 * batches (`version` is compared with the number of writes of each side).
 */
const TABLES: Readonly<Record<string, string>> = {
  workflow_runs: `SELECT run_id, to_jsonb(t) - 'version' - 'last_commit' AS row, '' AS place FROM baton.workflow_runs t`,
  run_payloads: `SELECT run_id, to_jsonb(t) AS row, '' AS place FROM baton.run_payloads t`,
  task_instances: `SELECT run_id, to_jsonb(t) - 'lease_id' || jsonb_build_object('leased', lease_id IS NOT NULL) AS row,
      task_id::text AS place FROM baton.task_instances t`,
  run_journal: `SELECT run_id, to_jsonb(t) AS row, lpad(seq::text, 9, '0') AS place FROM baton.run_journal t`,
  outbox: `SELECT run_id, to_jsonb(t) - 'id' - 'seq' - 'xid' AS row, lpad(run_seq::text, 9, '0') AS place
      FROM baton.outbox t`,
  signals: `SELECT run_id, to_jsonb(t) AS row, signal_id AS place FROM baton.signals t`,
  timers: `SELECT run_id, to_jsonb(t) AS row, timer_id::text AS place FROM baton.timers t`,
  run_keys: `SELECT run_id, to_jsonb(t) AS row, kind || key AS place FROM baton.run_keys t`,
};

/** By run id, then lines of "table: row". */
export async function rowsOf(
  database: HistoryDatabase,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const lines = new Map<string, string[]>(runIds.map((runId) => [runId, []]));
  for (const [table, select] of Object.entries(TABLES)) {
    const rows = await database.query<{ run_id: string; row: object }>(
      `SELECT run_id, row FROM (${select}) s WHERE run_id = ANY ($1::uuid[]) ORDER BY run_id, place`,
      [runIds],
    );
    for (const { run_id: runId, row } of rows) lines.get(runId)?.push(`${table}: ${JSON.stringify(row)}`);
  }
  return lines;
}

export async function versionsOf(
  database: HistoryDatabase,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, { readonly version: number; readonly lastCommit: string }>> {
  const rows = await database.query<{ run_id: string; version: string; last_commit: string }>(
    'SELECT run_id, version, last_commit FROM baton.workflow_runs WHERE run_id = ANY ($1::uuid[])',
    [runIds],
  );
  return new Map(
    rows.map((row) => [row.run_id, { version: Number(row.version), lastCommit: row.last_commit }] as const),
  );
}

/** What the one side has and the other has not; null = the same. */
export function differenceOf(inBatches: readonly string[], oneByOne: readonly string[]): string | null {
  const one = new Set(inBatches);
  const other = new Set(oneByOne);
  const only = inBatches.filter((line) => !other.has(line)).map((line) => `only in batches:  ${line}`);
  const missing = oneByOne.filter((line) => !one.has(line)).map((line) => `only one by one: ${line}`);
  const lines = [...only, ...missing];
  return lines.length === 0 && inBatches.length === oneByOne.length ? null : lines.join('\n');
}
