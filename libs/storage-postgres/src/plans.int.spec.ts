import { randomUUID } from 'node:crypto';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { bind, parseStatement, statement, statementNames, type StatementValues } from './statements.js';
import { loadRows } from './testing/load-rows.js';
import {
  engineSession,
  findingsOf,
  genericPlan,
  touchedPartitions,
  type IndexExceptions,
  type PlanNode,
} from './testing/plans.js';
import { MAJORS } from './testing/store-fixture.js';
import { newRunId, reportWrite, taskState } from './testing/writes.js';
import { encodeBatch } from './write/batch.js';

/** Lists and due scans go over all partitions, each by the one index that gives their order. */
const EXCEPTIONS: IndexExceptions = {
  'list-runs': { workflow_runs: '_namespace_run_id_idx' },
  'list-runs-by-status': { workflow_runs: '_namespace_status_run_id_idx' },
  'list-runs-by-business-key': { run_payloads: '_namespace_business_key_run_id_idx' },
  'read-due-tasks': { task_instances: '_wake_at_idx' },
  'read-due-timers': { timers: 'timers_due' },
  'purge-keys': { run_keys: 'run_keys_expiry' },
  'claim-tasks': { task_instances: '_namespace_queue_dispatched_at_idx _lease_call_idx' },
  'read-claimable': { task_instances: '_namespace_queue_dispatched_at_idx' },
  'read-outbox': { outbox: '_xid_seq_idx' },
  'read-backlog': {
    workflow_runs: '_namespace_status_run_id_idx',
    task_instances: '_namespace_queue_dispatched_at_idx',
  },
};
/** Only the embedded runtime says these, and only its databases have the indexes for them (R29). */
const OF_LIBRARY = new Set([
  ...['claim-tasks', 'read-claimable', 'read-outbox', 'read-backlog'],
  ...['take-run-lock', 'renew-run-lock', 'release-run-lock', 'purge-run-locks'],
]);
const MODES = MAJORS.flatMap((major) => [
  { major, library: false, mode: 'platform' },
  { major, library: true, mode: 'library' },
]);

describe.each(MODES)('plans of the engine (R36) on PostgreSQL $major, $mode mode', ({ major, library }) => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createDatabase({ major, library });
    client = new Client({ connectionString: database.url });
    await client.connect();
    await engineSession(client);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  const allFindings = async (): Promise<readonly string[]> => {
    const findings: string[] = [];
    for (const name of statementNames().filter((one) => library || !OF_LIBRARY.has(one))) {
      findings.push(...findingsOf(name, await genericPlan(client, statement(name)), EXCEPTIONS));
    }
    return findings;
  };

  it('look rows up by key on empty tables: a connection may keep such a plan for long', async () => {
    expect(await allFindings()).toEqual([]);
  });

  // The rows take a while; what the newest release does with them is what counts.
  if (major !== MAJORS[0]) return;
  describe('on 100,000 analysed rows in three partitions', () => {
    beforeAll(() => loadRows(client), 120_000);

    it('never read a hot table as a whole, nor every partition of one', async () => {
      expect(await allFindings()).toEqual([]);
    });

    it.each([
      ['a sequential scan', `SELECT r.run_id FROM baton.workflow_runs r WHERE r.last_commit = :commit::uuid`],
      [
        'a partition key in a function',
        `SELECT t.task_id FROM baton.task_instances t WHERE t.run_id::text = :run::text`,
      ],
      ['every partition', `SELECT t.task_id FROM baton.task_instances t WHERE t.task_id = :task::uuid`],
      [
        'a list without its run',
        `SELECT r.run_id FROM baton.workflow_runs r WHERE r.namespace = :n::text AND r.namespace <> ''`,
      ],
      ['keys by something else', `SELECT k.key FROM baton.run_keys k WHERE k.request_hash = :hash::text`],
    ])('are told apart from a planted bad one: %s', async (_what, sql) => {
      const findings = findingsOf('planted', await genericPlan(client, parseStatement('planted', sql)));
      expect(findings.length).toBeGreaterThan(0);
    });

    it('R25: touch the partition of their runs alone when they are executed', async () => {
      const { rows } = await client.query<{ run_id: string; task_id: string; partition: string }>(
        `SELECT r.run_id, t.task_id, right(c.relname, 6) AS partition
         FROM baton.workflow_runs r JOIN baton.task_instances t USING (run_id) JOIN pg_class c ON c.oid = r.tableoid
         WHERE r.status = 'RUNNING' ORDER BY r.run_id DESC LIMIT 3`,
      );
      const partition = rows[0]!.partition;
      const runs = rows.map((row) => ({ runId: row.run_id, task: taskState({ taskId: row.task_id }) }));
      const batch = encodeBatch({ batchId: randomUUID(), runs: runs.map((run) => reportWrite(run)) });
      const runIds = runs.map((run) => run.runId);
      const refs = { runId: runIds, namespace: runIds.map(() => 'default') };
      const calls = {
        ...refs,
        ord: [0, 1, 2],
        taskId: runs.map((run) => run.task.taskId),
        attempt: [1, 1, 1],
        owner: ['w', 'w', 'w'],
        callId: ['c', 'c', 'c'],
        ttlMs: [0, 0, 0],
        wantInput: [true, true, true],
      };
      const executed: readonly (readonly [string, StatementValues])[] = [
        ['read-runs', { runs: refs }],
        ['acquire-leases', { calls }],
        [batch.statement, batch.values],
        ['write-batch-full', batch.values],
        ['need-payloads', { tasks: { ...refs, taskId: calls.taskId } }],
        ['read-history', { runId: runIds[0], namespace: 'default', afterSeq: 0, limit: 10 }],
      ];
      for (const [name, values] of executed) {
        const touched = [...touchedPartitions(await executedPlan(client, name, values))];
        expect({ name, touched: touched.filter((relation) => !relation.endsWith(partition)) }).toEqual({
          name,
          touched: [],
        });
        expect(touched.length).toBeGreaterThan(0);
      }
    });

    it('R25: find a run that does not exist in no partition at all', async () => {
      const refs = { runId: [newRunId(0)], namespace: ['default'] };
      const touched = touchedPartitions(await executedPlan(client, 'read-runs', { runs: refs }));
      expect([...touched].filter((relation) => !relation.endsWith('_default'))).toEqual([]);
    });
  });
});

/** Executed and rolled back. */
async function executedPlan(client: Client, name: string, values: StatementValues): Promise<PlanNode> {
  const bound = bind(statement(name), values);
  await client.query('BEGIN');
  try {
    const { rows } = await client.query<[readonly { readonly Plan: PlanNode }[]]>({
      text: `EXPLAIN (ANALYZE, FORMAT JSON) ${bound.text}`,
      values: bound.values ?? [],
      rowMode: 'array',
    });
    const plan = rows[0]?.[0][0]?.Plan;
    if (plan === undefined) throw new Error(`no plan of ${name}`);
    return plan;
  } finally {
    await client.query('ROLLBACK');
  }
}
