import type { Store } from '@baton/engine';
import { createDatabase, defaultMajor, moveClock, type TestDatabase, type TestDatabaseOptions } from '@baton/testkit';
import { Client, type QueryResultRow } from 'pg';
import type { PoolOptions } from '../pool.js';
import { createPostgresStore } from '../store.js';

type Major = NonNullable<TestDatabaseOptions['major']>;

/**
 * What the storage suite runs on: the newest release, and an old one. The long test of all releases asks for each of
 * them alone.
 */
export const MAJORS: readonly [Major, ...Major[]] =
  process.env['BATON_TEST_POSTGRES'] === undefined ? [18, 15] : [defaultMajor()];

/** A store on a database of its own, and a second connection that looks at the rows. */
export interface StoreFixture {
  readonly store: Store;
  readonly url: string;
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<readonly Row[]>;
  /** Another session that may hold locks. */
  connect(): Promise<Client>;
  moveClock(interval: string): Promise<void>;
  /** The clock stands still, so that no pause of the machine is between two instants; `moveClock` lets it go on. */
  stopClock(): Promise<void>;
  close(): Promise<void>;
}

export interface FixtureOptions {
  /** A database of the embedded runtime (R29). */
  readonly library?: boolean;
  readonly pool?: Partial<PoolOptions>;
  /** Puts something between the store and the server: answers the url of it. */
  readonly through?: (url: string) => Promise<string>;
}

export async function storeFixture(
  major: Major = defaultMajor(),
  { library = false, pool = {}, through = (url) => Promise.resolve(url) }: FixtureOptions = {},
): Promise<StoreFixture> {
  const database: TestDatabase = await createDatabase({ major, library });
  const store = createPostgresStore({ url: await through(database.url), poolSize: 4, ...pool });
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: database.url });
    // Some tests kill this session too.
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  };
  const observer = await connect();
  return {
    store,
    url: database.url,
    connect,
    moveClock: (interval) => moveClock(database.url, interval),
    async stopClock() {
      const { rows } = await observer.query<{ now: string }>('SELECT baton.now()::text AS now');
      await observer.query(
        `CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
         AS $$ SELECT timestamptz '${rows[0]?.now ?? ''}' $$`,
      );
    },
    query: async (sql, values) => (await observer.query(sql, values)).rows,
    async close() {
      await store.close();
      await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
      await database.drop();
    },
  };
}
