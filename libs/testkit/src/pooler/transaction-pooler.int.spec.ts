import { Client } from 'pg';
import { createDatabase, type TestDatabase } from '../database.js';
import { eventually } from '../eventually.js';
import { startTransactionPooler, type TransactionPooler } from './transaction-pooler.js';

describe('a pooler in transaction mode', () => {
  let database: TestDatabase;
  let pooler: TransactionPooler;
  const clients: Client[] = [];

  beforeAll(async () => {
    database = await createDatabase({ migrated: false });
    pooler = await startTransactionPooler({ url: database.url, sessions: 2 });
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
  });
  afterAll(async () => {
    await pooler.close();
    await database.drop();
  });

  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: pooler.url });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
    return client;
  };
  const one = async (client: Client, sql: string): Promise<unknown> =>
    Object.values((await client.query<Record<string, unknown>>(sql)).rows[0] ?? {})[0];

  it('gives each transaction another session, and one session to a whole transaction', async () => {
    const client = await connect();
    const first = await one(client, 'SELECT pg_backend_pid()');
    expect(await one(client, 'SELECT pg_backend_pid()')).not.toBe(first);
    await client.query('BEGIN');
    const within = await one(client, 'SELECT pg_backend_pid()');
    expect(await one(client, 'SELECT pg_backend_pid()')).toBe(within);
    await client.query('COMMIT');
    expect(await one(client, 'SELECT pg_backend_pid()')).not.toBe(within);
  });

  it('loses settings and prepared statements of a session', async () => {
    const client = await connect();
    await client.query(`SET application_name = 'mine'`);
    expect(await one(client, 'SHOW application_name')).toBe('pooler');
    const named = { name: 'named', text: 'SELECT $1::integer', values: [1] };
    await client.query(named);
    await expect(client.query(named)).rejects.toMatchObject({ code: '26000' });
  });

  it('keeps a failed transaction together until it is rolled back', async () => {
    const client = await connect();
    await client.query('BEGIN');
    await expect(client.query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' });
    await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
    await client.query('ROLLBACK');
    expect(await one(client, 'SELECT $$free$$')).toBe('free');
  });

  it('lets more clients in than it has sessions, one transaction after the other', async () => {
    const many = await Promise.all(Array.from({ length: 6 }, () => connect()));
    const answers = await Promise.all(many.map((client, index) => one(client, `SELECT ${index}, pg_sleep(0.01)`)));
    expect(answers).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('rolls back what a client leaves open', async () => {
    const owner = await connect();
    await owner.query('CREATE TABLE left_open (id integer)');
    const leaver = await connect();
    await leaver.query('BEGIN');
    await leaver.query('INSERT INTO left_open VALUES (1)');
    await leaver.end();
    clients.splice(clients.indexOf(leaver), 1);
    await eventually(async () => (await one(owner, 'SELECT count(*) FROM left_open')) === '0', { what: 'no row' });
  });
});
