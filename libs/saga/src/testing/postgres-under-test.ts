import { createDatabase, type TestDatabaseOptions } from '@baton/testkit';
import { Client } from 'pg';
import { openSagaStore, type SagaStoreOptions } from '../storage/postgres-store.js';
import type { StoreUnderTest } from './journal-world.js';

export interface PostgresUnderTest extends StoreUnderTest {
  readonly url: string;
  /** A second session that looks at the rows, or changes them. */
  query(sql: string, values?: unknown[]): Promise<readonly Record<string, unknown>[]>;
  connect(): Promise<Client>;
}

/** A database of its own whose clock stands still but for `advance`. */
export async function postgresUnderTest(
  { major }: Pick<TestDatabaseOptions, 'major'> = {},
  options: Partial<SagaStoreOptions> = {},
  /** Puts something between the store and the server: answers the url of it. */
  through: (url: string) => Promise<string> = (url) => Promise.resolve(url),
): Promise<PostgresUnderTest> {
  const database = await createDatabase({ library: true, ...(major !== undefined && { major }) });
  const store = await openSagaStore({ url: await through(database.url), poolSize: 6, ...options });
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: database.url });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  };
  const observer = await connect();
  const query = async (sql: string, values?: unknown[]) =>
    (await observer.query<Record<string, unknown>>(sql, values)).rows;
  const [first] = await query('SELECT baton.now()::text AS now');
  const began = String(first?.['now']);
  let moved = 0;
  const advance = async (ms: number): Promise<void> => {
    moved += ms;
    await query(
      `CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
       AS $$ SELECT timestamptz '${began}' + interval '${moved} milliseconds' $$`,
    );
  };
  await advance(0);
  return {
    store,
    url: database.url,
    ...{ query, connect, advance },
    async close() {
      await store.close();
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
      await database.drop();
    },
  };
}
