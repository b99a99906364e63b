import type { StoreFixture } from './store-fixture.js';

const TABLES = [
  'workflow_runs',
  'run_payloads',
  'task_instances',
  'run_journal',
  'signals',
  'timers',
  'run_keys',
  'outbox',
] as const;

/**
 * Every row of these runs, with the transaction that wrote it last: two answers are equal only if nothing was written
 * in between, not even the same values again.
 */
export async function rowsOf(fixture: StoreFixture, runIds: readonly string[]): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const table of TABLES) {
    const found = await fixture.query<{ row: string }>(
      `SELECT concat_ws(' ', '${table}', t.xmin, t::text) AS row FROM baton.${table} t
       WHERE t.run_id = ANY ($1::uuid[]) ORDER BY 1`,
      [runIds],
    );
    rows.push(...found.map(({ row }) => row));
  }
  return rows;
}
