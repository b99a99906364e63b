import {
  MAJORS,
  engineSession,
  findingsOf,
  genericPlan,
  loadRows,
  type IndexExceptions,
} from '@baton/storage-postgres/testing';
import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { statementNames, statementText } from './statements.js';

/** Walks go over all partitions, each by the one index that gives their order. */
const EXCEPTIONS: IndexExceptions = {
  'page-of-runs': { workflow_runs: '_pkey' },
  'page-of-runs-of-namespace': { workflow_runs: '_namespace_run_id_idx' },
  'page-of-outbox': { outbox: '_seq_idx' },
  // No hot table: it is named like one.
  'dead-rows': { outbox: 'outbox_dead_pkey' },
  'rows-in-default-partitions': {
    workflow_runs: '_pkey!',
    run_payloads: '_pkey!',
    task_instances: '_pkey!',
    run_journal: '_pkey!',
    signals: '_pkey!',
    outbox: '_pkey!',
  },
};

describe.each(MAJORS)('plans of the doctor (R36) on PostgreSQL %i', (major) => {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createDatabase({ major });
    client = new Client({ connectionString: database.url });
    await client.connect();
    await engineSession(client);
  });
  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  const planOf = (name: string, text: string) => {
    const numbers = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
    const parameters: readonly unknown[] = Array.from({ length: Math.max(0, ...numbers) });
    return genericPlan(client, { name, text, parameters });
  };

  const allFindings = async (): Promise<readonly string[]> => {
    const findings: string[] = [];
    for (const name of statementNames()) {
      findings.push(...findingsOf(name, await planOf(name, statementText(name)), EXCEPTIONS));
    }
    return findings;
  };

  it('look rows up by key on empty tables', async () => {
    expect(await allFindings()).toEqual([]);
  });

  // The rows take a while; what the newest release does with them is what counts.
  if (major !== MAJORS[0]) return;
  it('never read a hot table as a whole on 100,000 analysed rows in three partitions', async () => {
    await loadRows(client);
    expect(await allFindings()).toEqual([]);
    const planted = await planOf('planted', 'SELECT o.id FROM baton.outbox o WHERE o.run_id = $1::uuid');
    expect(findingsOf('planted', planted, EXCEPTIONS)).not.toEqual([]);
  }, 120_000);
});
