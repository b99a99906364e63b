import type { Platform } from '@baton/testkit';

interface LedgerRow {
  readonly run_id: string;
  readonly node: string;
  readonly kind: string;
  readonly attempt: number;
  readonly event: 'started' | 'finished' | 'failed';
}

interface TaskRow {
  readonly run_id: string;
  readonly node_id: string;
  readonly kind: string;
  readonly status: string;
  readonly attempt: number;
  readonly run_status: string;
}

/**
 * Compares what workers did (their ledger, in a database of its own) with what Baton says. Answers the differences.
 *
 * - Each step that Baton calls SUCCEEDED was finished by a handler in exactly that attempt.
 * - Baton records one success for each (run, node, kind), however often handlers ran.
 * - A handler that finished and is not recorded was superseded by a later attempt or by the end of the run's forward
 *   phase; it was never simply forgotten.
 * - In a compensated run every step that succeeded forwards was undone, after all that came after it.
 */
export async function auditOrders(platform: Platform, runIds: readonly string[]): Promise<string[]> {
  const ledger = await platform.sql(async (client) => {
    const sql = 'SELECT run_id, node, kind, attempt, event FROM ledger WHERE run_id = ANY($1) ORDER BY id';
    return (await client.query<LedgerRow>(sql, [runIds])).rows;
  }, platform.ledgerUrl);
  const tasks = await platform.sql(async (client) => {
    const sql = `SELECT t.run_id, t.node_id, t.kind, t.status, t.attempt, r.status AS run_status
                 FROM baton.task_instances t JOIN baton.workflow_runs r USING (run_id) WHERE t.run_id = ANY($1)`;
    return (await client.query<TaskRow>(sql, [runIds])).rows;
  });
  return [
    ...successesWithoutWork(ledger, tasks),
    ...doubleSuccesses(tasks),
    ...forgottenWork(ledger, tasks),
    ...wrongUndo(ledger, tasks),
  ];
}

const keyOf = (runId: string, node: string, kind: string): string => `${runId} ${node} ${kind}`;

function successesWithoutWork(ledger: readonly LedgerRow[], tasks: readonly TaskRow[]): string[] {
  const finished = new Set(
    ledger
      .filter((row) => row.event === 'finished')
      .map((row) => `${keyOf(row.run_id, row.node, row.kind)} ${row.attempt}`),
  );
  return tasks
    .filter((task) => task.status === 'SUCCEEDED')
    .map((task) => `${keyOf(task.run_id, task.node_id, task.kind)} ${task.attempt}`)
    .filter((key) => !finished.has(key))
    .map((key) => `recorded as succeeded, but no handler finished it: ${key}`);
}

function doubleSuccesses(tasks: readonly TaskRow[]): string[] {
  const counts = new Map<string, number>();
  for (const task of tasks.filter((row) => row.status === 'SUCCEEDED')) {
    const key = keyOf(task.run_id, task.node_id, task.kind);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 1).map(([key, count]) => `recorded ${count} times: ${key}`);
}

function forgottenWork(ledger: readonly LedgerRow[], tasks: readonly TaskRow[]): string[] {
  const known = new Map(tasks.map((task) => [keyOf(task.run_id, task.node_id, task.kind), task]));
  return ledger
    .filter((row) => row.event === 'finished')
    .filter((row) => {
      const task = known.get(keyOf(row.run_id, row.node, row.kind));
      if (task === undefined) return true;
      const recorded = task.status === 'SUCCEEDED' && task.attempt === row.attempt;
      const superseded = task.attempt > row.attempt;
      const cutOff = task.status === 'CANCELLED';
      return !(recorded || superseded || cutOff);
    })
    .map((row) => `finished by a handler, forgotten by Baton: ${keyOf(row.run_id, row.node, row.kind)} ${row.attempt}`);
}

/** Steps of the example in order of dependency: each comes after the ones before it. */
const ORDER = ['reserve', 'charge', 'ship'];

function wrongUndo(ledger: readonly LedgerRow[], tasks: readonly TaskRow[]): string[] {
  const problems: string[] = [];
  for (const runId of new Set(tasks.filter((task) => task.run_status === 'COMPENSATED').map((task) => task.run_id))) {
    const rows = tasks.filter((task) => task.run_id === runId);
    const done = rows.filter(
      (task) => task.kind === 'forward' && task.status === 'SUCCEEDED' && ORDER.includes(task.node_id),
    );
    const undone = rows
      .filter((task) => task.kind === 'compensate' && task.status === 'SUCCEEDED')
      .map((task) => task.node_id);
    for (const task of done.filter((row) => !undone.includes(row.node_id)))
      problems.push(`not undone: ${runId} ${task.node_id}`);
    const calls = ledger.filter((row) => row.run_id === runId && row.kind === 'compensate');
    for (let later = 1; later < ORDER.length; later += 1) {
      const laterEnd = calls.findLastIndex((row) => row.node === ORDER[later] && row.event === 'finished');
      const earlierStart = calls.findIndex((row) => row.node === ORDER[later - 1] && row.event === 'started');
      if (laterEnd >= 0 && earlierStart >= 0 && earlierStart < laterEnd) {
        problems.push(`undone out of order: ${runId} ${ORDER[later - 1]} before ${ORDER[later]}`);
      }
    }
  }
  return problems;
}
