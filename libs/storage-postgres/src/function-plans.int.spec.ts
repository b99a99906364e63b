import { randomUUID } from 'node:crypto';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { bind, statement, type StatementValues } from './statements.js';
import { loadRows } from './testing/load-rows.js';
import { engineSession, findingsOf, touchedPartitions, type IndexExceptions, type PlanNode } from './testing/plans.js';
import { MAJORS } from './testing/store-fixture.js';
import {
  dispatchedTask,
  journalRow,
  newRunId,
  outboxRow,
  reportWrite,
  startWrite,
  taskState,
} from './testing/writes.js';
import { encodeStart, encodeStep } from './write/single.js';

/** R36 within functions, whose statements EXPLAIN does not show: each plan is told by the server as it is executed. */
describe.each(MAJORS)('plans inside the functions that write (R36) on PostgreSQL %i', (major) => {
  let database: TestDatabase;
  let owner: Client;

  beforeAll(async () => {
    database = await createDatabase({ major, library: true });
    owner = new Client({ connectionString: database.url });
    await owner.connect();
    await loadRows(owner);
  }, 120_000);
  afterAll(async () => {
    await owner.end();
    await database.drop();
  });

  // A plan for known values may take the list's index for the one run that it names: it is not kept.
  const byRunToo = { 'write-step': { workflow_runs: '_namespace_run_id_idx' } };
  const sessions: readonly (readonly [string, (client: Client) => Promise<unknown>, IndexExceptions])[] = [
    ['a session of the engine', engineSession, {}],
    ['a session behind a pooler, without settings', () => Promise.resolve(), byRunToo],
  ];

  describe.each(sessions)('%s', (_what, prepare, exceptions) => {
    let client: Client;
    const plans: PlanNode[] = [];

    beforeAll(async () => {
      client = new Client({ connectionString: database.url });
      await client.connect();
      await prepare(client);
      await client.query(
        `LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;
         SET auto_explain.log_analyze = on; SET auto_explain.log_format = json; SET client_min_messages = log`,
      );
      client.on('notice', ({ message = '' }) => {
        const json = message.slice(message.indexOf('{'));
        if (message.includes('plan:')) plans.push((JSON.parse(json) as { Plan: PlanNode }).Plan);
      });
    });
    afterAll(() => client.end());
    beforeEach(() => {
      plans.length = 0;
    });

    const execute = async (name: string, values: StatementValues): Promise<unknown> => {
      const { text, values: parameters } = bind(statement(name), values);
      // A generic plan may come after five others.
      let answer: unknown;
      for (let turn = 0; turn < 7; turn += 1) {
        await client.query('BEGIN');
        answer = (await client.query({ text, values: parameters ?? [], rowMode: 'array' })).rows[0];
        await client.query('ROLLBACK');
      }
      return answer;
    };
    const findings = (name: string) => plans.flatMap((plan) => findingsOf(name, plan, exceptions));
    const partitions = () => [...new Set(plans.flatMap((plan) => [...touchedPartitions(plan)]))];

    it('a report finds its run and its task by their keys, in their partition alone', async () => {
      const { rows } = await owner.query<{ run_id: string; task_id: string; partition: string }>(
        `SELECT r.run_id, t.task_id, right(c.relname, 6) AS partition
         FROM baton.workflow_runs r JOIN baton.task_instances t USING (run_id) JOIN pg_class c ON c.oid = r.tableoid
         WHERE r.status = 'RUNNING' ORDER BY r.run_id DESC LIMIT 1`,
      );
      const [{ run_id: runId, task_id: taskId, partition }] = rows as [(typeof rows)[0]];
      const run = { runId, task: taskState({ taskId }) };
      const values = encodeStep({ batchId: randomUUID(), runs: [reportWrite(run)] });
      expect(await execute('write-step', values!)).toEqual([true]);
      expect(plans.length).toBeGreaterThan(7 * 4);
      expect(findings('write-step')).toEqual([]);
      expect(partitions().filter((relation) => !relation.endsWith(partition))).toEqual([]);
      expect(partitions().length).toBeGreaterThan(1);
    });

    it('a start with a key reads no table', async () => {
      const task = dispatchedTask(taskState());
      const start = startWrite(
        newRunId(),
        { idempotencyKey: randomUUID() },
        { tasks: [task], journal: [journalRow(1)], outbox: [outboxRow(1)] },
      );
      expect(await execute('write-start', encodeStart(randomUUID(), start)!)).toEqual([true]);
      expect(plans.length).toBeGreaterThan(7 * 4);
      expect(findings('write-start')).toEqual([]);
      expect(partitions()).toEqual([]);
    });
  });
});
