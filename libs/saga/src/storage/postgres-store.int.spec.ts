import { createDatabase, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import { publishSagas } from '../definition/publish-sagas.js';
import { SagaRegistry } from '../definition/registry.js';
import { suiteSagas } from '../testing/journal-sagas.js';
import { openSagaStore, type SagaStoreOptions } from './postgres-store.js';

const opened: { close(): Promise<void> }[] = [];
const databases: TestDatabase[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
  await Promise.all(databases.splice(0).map((database) => database.drop()));
});

async function database(options: Parameters<typeof createDatabase>[0]): Promise<TestDatabase> {
  const made = await createDatabase(options);
  databases.push(made);
  return made;
}

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function open(options: SagaStoreOptions) {
  const store = await openSagaStore(options);
  opened.push(store);
  return store;
}

/** The address of the same database for a role that may do no more than it is granted here. */
async function as(role: string, { url, name }: TestDatabase, grants: readonly string[]): Promise<string> {
  const own = `${role}_${name}`;
  await query(url, `CREATE ROLE ${own} LOGIN PASSWORD 'secret'`);
  for (const grant of grants) await query(url, `${grant} TO ${own}`);
  opened.push({
    close: async () => {
      await query(url, `DROP OWNED BY ${own} CASCADE`);
      await query(url, `DROP ROLE ${own}`);
    },
  });
  const address = new URL(url);
  address.username = own;
  address.password = 'secret';
  return address.toString();
}

describe('a database for sagas', () => {
  it('is refused while its tables are not there, and made when that is asked for, once', async () => {
    const { url } = await database({ migrated: false });
    await expect(open({ url })).rejects.toMatchObject({ kind: 'unavailable', code: 'SCHEMA_MISSING' });
    const first = await open({ url, migrate: true });
    const second = await open({ url, migrate: true });
    await first.checkReady();
    await second.checkReady();
    await Promise.all([first.close(), first.close()]);
  });

  it('is refused with the schema of the platform alone: claims and readers need more', async () => {
    const { url } = await database({ migrated: true });
    const refusal = await open({ url }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'SCHEMA_MISSING' });
    expect(String(refusal)).toContain('baton migrate up --library');
  });

  it('is made by a role that may not: the error says who must do what', async () => {
    const empty = await database({ migrated: false });
    await query(empty.url, `REVOKE CREATE ON DATABASE ${empty.name} FROM PUBLIC`);
    const url = await as('nobody', empty, [`GRANT CONNECT ON DATABASE ${empty.name}`]);
    const refusal = await open({ url, migrate: true }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ kind: 'unavailable', code: 'MIGRATION_DENIED' });
    expect(String(refusal)).toContain('baton migrate up --library');
    expect(String(refusal)).not.toContain('secret');
  });

  it('of a newer build is refused', async () => {
    const { url } = await database({ library: true });
    await query(url, `INSERT INTO baton.schema_migrations (timestamp, name) VALUES (9, 'Future9')`);
    await expect(open({ url })).rejects.toMatchObject({ code: 'SCHEMA_NEWER' });
  });

  it('that cannot be reached is unavailable', async () => {
    const closed = 'postgres://nobody@127.0.0.1:1/none';
    await expect(open({ url: closed })).rejects.toMatchObject({ kind: 'unavailable', code: 'DATABASE_UNAVAILABLE' });
  });

  it('W12: keeps what was published: the same again changes nothing, other content under a version is told', async () => {
    const { url } = await database({ library: true });
    const store = await open({ url });
    const [one] = suiteSagas;
    if (one === undefined) throw new Error('there is no saga');
    const { id, spec } = one;
    expect(await store.definitions.publish('default', [{ id, version: 1, spec }])).toEqual([]);
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(spec) as object).reverse()));
    expect(await store.definitions.publish('default', [{ id, version: 1, spec: reordered }])).toEqual([]);
    const ours = spec.replace('"a"', '"b"');
    const changed = await store.definitions.publish('default', [{ id, version: 1, spec: ours }]);
    expect(changed).toEqual([{ id, version: 1, published: spec, ours }]);
    expect(await store.runs.loadDefinition('default', id, 1)).toBe(spec);
  });

  it('W12: deploys the newest version, and an old process that starts late brings none back', async () => {
    const { url } = await database({ library: true });
    const store = await open({ url });
    const [one] = suiteSagas;
    const spec = one?.spec ?? '';
    await store.definitions.publish('default', [
      { id: 'one', version: 2, spec: spec.replace('"version":1', '"version":2') },
    ]);
    await store.definitions.publish('default', [{ id: 'one', version: 1, spec }]);
    expect(await store.runs.deployedVersion('default', 'one')).toBe(2);
    await publishSagas(store.definitions, 'default', new SagaRegistry(suiteSagas));
  });
});
