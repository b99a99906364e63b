import { createDatabase, eventually, type TestDatabase } from '@baton/testkit';
import { Client } from 'pg';
import pgPackage from 'pg/package.json';
import { unique, sql } from '../testing/bench.js';
import { ReplicationConnection } from './connection.js';
import { formatLsn } from './lsn.js';
import { readStreamMessage, writeStandbyStatus } from './wire.js';

/*
 * pg has no API for replication. These tests are the contract of what is used of its inside: when they fail after an
 * update of pg, the replication client is what has to be looked at.
 */

describe("pg's connection in replication mode", () => {
  let database: TestDatabase;
  const open: ReplicationConnection[] = [];

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterEach(() => {
    for (const connection of open.splice(0)) connection.destroy();
  });
  afterAll(() => database.drop());

  async function connect(walSenderTimeoutMs = 5000): Promise<ReplicationConnection> {
    const options = { url: database.url, applicationName: 'contract', walSenderTimeoutMs };
    const connection = await ReplicationConnection.open(options);
    open.push(connection);
    return connection;
  }

  const insert = (payload: string): Promise<unknown> =>
    sql(
      database.url,
      `INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, shard, namespace, created_at)
       SELECT gen_random_uuid(), 'run', '', 't', $1, gen_random_uuid(), 1, 'baton.default.events', 0, 'default', now()`,
      [payload],
    );

  it('is the one of the version that is pinned', () => {
    expect(pgPackage.version).toBe('8.23.1');
  });

  it('identifies the server, and its sender lets go after the time that was asked for', async () => {
    const connection = await connect(1234);
    const { systemId, timeline } = await connection.identify();
    expect(systemId).toMatch(/^\d+$/);
    expect(timeline).toBe(1);
  });

  it('makes a slot with a snapshot, and streams what comes after it', async () => {
    const slot = unique('contract_');
    await insert('before');
    const connection = await connect();
    const created = await connection.createSlot(slot);
    expect(formatLsn(created.consistentPoint)).toMatch(/^[0-9A-F]+\/[0-9A-F]+$/);
    const reader = new Client({ connectionString: database.url });
    await reader.connect();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query(`SET TRANSACTION SNAPSHOT '${created.snapshot}'`);
    await insert('later');
    const { rows } = await reader.query<{ payload: string }>('SELECT payload FROM baton.outbox');
    await reader.end();
    expect(rows.map(({ payload }) => payload)).toEqual(['before']);
    const payloads: string[] = [];
    await connection.stream(slot, 'baton_outbox', (chunk) => {
      const message = readStreamMessage(chunk);
      if (message.kind === 'data' && message.payload.toString('latin1', 0, 1) === 'I') {
        payloads.push(message.payload.toString('utf8'));
      }
    });
    await insert('after');
    await eventually(() => payloads.length === 2);
    expect(payloads[0]).toContain('later');
    expect(payloads[1]).toContain('after');
  });

  it('sends status that moves the slot, and only to where it says', async () => {
    const slot = unique('contract_');
    const connection = await connect();
    const { consistentPoint } = await connection.createSlot(slot);
    await connection.stream(slot, 'baton_outbox', () => undefined);
    const confirmed = async (): Promise<string | undefined> => {
      const rows = await sql<{ lsn: string }>(
        database.url,
        'SELECT confirmed_flush_lsn::text AS lsn FROM pg_replication_slots WHERE slot_name = $1',
        [slot],
      );
      return rows[0]?.lsn;
    };
    await insert('x');
    const goal = consistentPoint + 8n;
    connection.send(writeStandbyStatus({ received: goal, confirmed: goal, nowMs: Date.now() }));
    await eventually(async () => (await confirmed()) === formatLsn(goal));
  });

  it('stays connected while its reading is paused, as long as status is sent (L7)', async () => {
    const slot = unique('contract_');
    const connection = await connect(1000);
    const { consistentPoint } = await connection.createSlot(slot);
    let chunks = 0;
    await connection.stream(slot, 'baton_outbox', () => (chunks += 1));
    let isOver: Error | null = null;
    void connection.ended.then((reason) => (isOver = reason));
    connection.pause();
    const status = setInterval(
      () =>
        connection.send(
          writeStandbyStatus({ received: consistentPoint, confirmed: consistentPoint, nowMs: Date.now() }),
        ),
      300,
    );
    await sql(
      database.url,
      `INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, shard, namespace, created_at)
       SELECT gen_random_uuid(), 'run', '', 't', repeat('x', 1000), gen_random_uuid(), 1, 'baton.default.events', 0, 'default', now()
         FROM generate_series(1, 20000)`,
    );
    const before = chunks;
    const until = performance.now() + 3500;
    await eventually(() => performance.now() > until);
    expect(isOver).toBeNull();
    connection.resume();
    await eventually(() => chunks > before + 20_000);
    clearInterval(status);
  });

  it('tells who else has the slot by code, and its end by a promise', async () => {
    const slot = unique('contract_');
    const first = await connect();
    await first.createSlot(slot);
    await first.stream(slot, 'baton_outbox', () => undefined);
    const second = await connect();
    await expect(second.stream(slot, 'baton_outbox', () => undefined)).rejects.toMatchObject({ code: '55006' });
    const over = first.ended;
    await sql(database.url, 'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1', [
      slot,
    ]);
    expect((await over).message).not.toBe('');
  });

  it('refuses names that are no plain names', async () => {
    const connection = await connect();
    await expect(connection.createSlot('x; DROP TABLE y')).rejects.toThrow('not a plain name');
  });
});
