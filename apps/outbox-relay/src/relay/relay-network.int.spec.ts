import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { taskTopic } from '@baton/bus-kafka';
import {
  createDatabase,
  eventually,
  startFaultProxy,
  startKafkaBehindProxy,
  type FaultProxy,
  type KafkaBehindProxy,
  type TestDatabase,
} from '@baton/testkit';
import {
  expectAllInOrder,
  Reader,
  sql,
  startRelay,
  unique,
  writeConcurrently,
  Writer,
  type RelayUnderTest,
} from './testing/bench.js';

jest.setTimeout(120_000);

/** The relay reaches both servers through proxies; the test writes and reads beside them. */
describe('A relay whose network fails', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-relay-network-'));
  const slot = unique('network_');
  let kafka: KafkaBehindProxy;
  let database: TestDatabase;
  let postgres: FaultProxy;
  let writer: Writer;
  let relay: RelayUnderTest;

  beforeAll(async () => {
    kafka = await startKafkaBehindProxy({ dataDir: join(folder, 'kafka') });
    database = await createDatabase();
    const { hostname, port } = new URL(database.url);
    postgres = await startFaultProxy({ target: { host: hostname, port: Number(port) } });
  });

  afterAll(async () => {
    await postgres.close();
    await database.drop();
    await kafka.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  beforeEach(async () => {
    writer = new Writer(database.url, taskTopic('default', unique('q')));
    relay = startRelay({
      databaseUrl: postgres.url(database.url),
      brokers: [kafka.brokers],
      slot,
      walSenderTimeoutMs: 2_000,
    });
    await eventually(() => relay.relay.status.phase === 'streaming', { timeoutMs: 30_000, what: 'the stream' });
    // The topic is there, and so are the connections.
    await writer.write([randomUUID()]);
    await arrived();
  });

  afterEach(async () => {
    kafka.proxy.thaw();
    postgres.thaw();
    for (const proxy of [kafka.proxy, postgres]) {
      proxy.refuse(false);
      proxy.delay(0);
    }
    await relay.relay.stop();
    await writer.close();
  });

  /** Reads from the beginning, beside the proxy. Answers how many messages came more than once. */
  async function arrived(): Promise<number> {
    const reader = await new Reader(kafka.kafka.brokers, [writer.topic]).start();
    try {
      await eventually(() => reader.has(writer.rows), { what: 'all rows in Kafka', timeoutMs: 45_000 });
      expectAllInOrder(reader, writer.rows);
      return reader.messages.length - reader.ids.size;
    } finally {
      await reader.stop();
    }
  }

  async function isConfirmed(lsn: string): Promise<boolean> {
    const [row] = await sql<{ ok: boolean }>(
      database.url,
      'SELECT confirmed_flush_lsn >= $2::pg_lsn AS ok FROM pg_replication_slots WHERE slot_name = $1',
      [slot, lsn],
    );
    return row?.ok === true;
  }

  async function position(): Promise<string> {
    const [row] = await sql<{ lsn: string }>(database.url, 'SELECT pg_current_wal_insert_lsn()::text AS lsn');
    return row?.lsn ?? '';
  }

  const load = (transactions: number): Promise<void> =>
    writeConcurrently(writer, { workers: 3, transactions, runsPerWorker: 3 });

  it('sends again what Kafka has stored but could not say: twice there, the same ids, in order (B108)', async () => {
    const lost = kafka.proxy.cutAfterCommit({ count: 10 });
    await Promise.all([load(60), lost.done]);
    expect(lost.happened).toBe(10);
    expect(await arrived()).toBeGreaterThanOrEqual(10);
  });

  it('confirms nothing while Kafka is frozen, and goes on when it thaws (B95)', async () => {
    kafka.proxy.freeze();
    await load(20);
    const written = await position();
    // A send that hears nothing is given up and made again: more than once by then.
    await eventually(() => relay.retries.size > 0, { timeoutMs: 40_000, what: 'a send to be given up' });
    expect(await isConfirmed(written)).toBe(false);
    kafka.proxy.thaw();
    await arrived();
    await eventually(() => isConfirmed(written), { what: 'the position to be confirmed' });
  });

  it('goes on after Kafka could not be reached, and confirms nothing until then (B95)', async () => {
    kafka.proxy.refuse(true);
    kafka.proxy.cut();
    await load(20);
    const written = await position();
    await eventually(() => relay.retries.size > 0, { timeoutMs: 40_000, what: 'a send to fail' });
    expect(await isConfirmed(written)).toBe(false);
    kafka.proxy.refuse(false);
    await arrived();
    await eventually(() => isConfirmed(written), { what: 'the position to be confirmed' });
  });

  it('keeps up when every message to Kafka is late, and sends nothing twice', async () => {
    kafka.proxy.delay(150);
    await load(30);
    expect(await arrived()).toBe(0);
    expect([...relay.retries]).toEqual([]);
  });

  it('notices a stream that has gone silent, and takes it up again', async () => {
    postgres.freeze();
    await load(20);
    await eventually(() => relay.relay.status.phase === 'reconnecting', { timeoutMs: 30_000, what: 'the silence' });
    postgres.thaw();
    await eventually(() => relay.relay.status.phase === 'streaming', { timeoutMs: 30_000, what: 'the stream' });
    await arrived();
  });

  it('goes on where it was when the stream is cut under load', async () => {
    const writing = load(120);
    for (let cuts = 0; cuts < 3; cuts += 1) {
      const before = writer.rows.length;
      await eventually(() => writer.rows.length > before + 20);
      postgres.cut();
      await eventually(() => relay.relay.status.phase === 'streaming', { timeoutMs: 30_000, what: 'the stream' });
    }
    await writing;
    await arrived();
  });
});
