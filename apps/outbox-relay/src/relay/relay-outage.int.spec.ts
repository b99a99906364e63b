import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { taskTopic } from '@baton/bus-kafka';
import { startKafka, startPostgres, type RunningKafka, type RunningPostgres } from '@baton/local-stack';
import { migrate } from '@baton/migrations';
import { eventually } from '@baton/testkit';
import {
  expectAllInOrder,
  Reader,
  slotOf,
  sql,
  startRelay,
  unique,
  writeConcurrently,
  Writer,
  type RelayUnderTest,
} from './testing/bench.js';
import { RelayProcess } from './testing/relay-process.js';

/*
 * Servers of this file's own, because they are stopped and killed here. One database, one slot; each test has a topic
 * of its own and finds the slot where the test before it left it.
 */

// A broker takes its time to start when the machine is busy.
jest.setTimeout(180_000);
const slot = unique('outage_');
const BATON_RELAY_WAL_SENDER_TIMEOUT_MS = '1500';

describe('A relay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-relay-outage-'));
  let postgres: RunningPostgres;
  let kafka: RunningKafka;
  let writer: Writer;
  let topic: string;
  let relays: RelayUnderTest[] = [];
  let processes: RelayProcess[] = [];
  let readers: Reader[] = [];

  beforeAll(async () => {
    // The database server may run as another user.
    chmodSync(folder, 0o755);
    [postgres, kafka] = await Promise.all([
      startPostgres({ dataDir: join(folder, 'postgres'), settings: { fsync: 'off', max_wal_size: '1GB' } }),
      startKafka({ dataDir: join(folder, 'kafka') }),
    ]);
    await migrate({ url: postgres.url, publication: true });
  }, 120_000);

  afterAll(async () => {
    await Promise.allSettled([kafka.stop(), postgres.stop()]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  beforeEach(() => {
    topic = taskTopic('default', unique('q'));
    writer = new Writer(postgres.url, topic);
  });

  afterEach(async () => {
    await Promise.all([...relays.map(({ relay }) => relay.stop()), ...processes.map((relay) => relay.stop())]);
    await Promise.all(readers.map((reader) => reader.stop()));
    relays = [];
    processes = [];
    readers = [];
    await writer.close();
  });

  function start(): RelayUnderTest {
    const relay = startRelay({ databaseUrl: postgres.url, brokers: [kafka.brokers], slot, walSenderTimeoutMs: 1500 });
    relays.push(relay);
    return relay;
  }

  function spawn(): RelayProcess {
    const relay = new RelayProcess({
      BATON_DATABASE_URL: postgres.url,
      BATON_KAFKA_BROKERS: kafka.brokers,
      BATON_RELAY_SLOT: slot,
      BATON_RELAY_WAL_SENDER_TIMEOUT_MS,
    });
    processes.push(relay);
    return relay;
  }

  async function streaming(): Promise<RelayUnderTest> {
    const started = start();
    await eventually(() => started.relay.status.phase === 'streaming', { timeoutMs: 30_000, what: 'the stream' });
    return started;
  }

  /** Reads the topic from its beginning. */
  async function allArrived(extraCheck: (reader: Reader) => void = () => undefined): Promise<void> {
    const reader = await new Reader(kafka.brokers, [topic]).start();
    try {
      await eventually(() => reader.has(writer.rows), { what: 'all rows in Kafka', timeoutMs: 30_000 });
      expectAllInOrder(reader, writer.rows);
      extraCheck(reader);
    } finally {
      await reader.stop();
    }
  }

  const position = async (): Promise<string> => {
    const [row] = await sql<{ lsn: string }>(postgres.url, 'SELECT pg_current_wal_insert_lsn()::text AS lsn');
    return row?.lsn ?? '';
  };
  const isConfirmed = async (lsn: string): Promise<boolean> => {
    const [row] = await sql<{ ok: boolean }>(
      postgres.url,
      'SELECT confirmed_flush_lsn >= $2::pg_lsn AS ok FROM pg_replication_slots WHERE slot_name = $1',
      [slot, lsn],
    );
    return row?.ok === true;
  };

  it('confirms nothing of what Kafka has not got, however many keepalives come (B95)', async () => {
    const relay = spawn();
    await eventually(() => relay.isStreaming, { timeoutMs: 30_000 });
    await writer.write([randomUUID()]);
    await eventually(async () => isConfirmed(await position()), { what: 'the slot to be confirmed' });
    await kafka.stop();
    const beforeRows = await position();
    const runs = Array.from({ length: 20 }, () => randomUUID());
    for (let i = 0; i < 5; i += 1) await writer.write(runs);
    // Three times the sender's timeout, with other log that the server tells of.
    const until = performance.now() + 3 * 1500;
    const afterRows = await position();
    await eventually(async () => {
      await sql(postgres.url, "SELECT pg_logical_emit_message(true, 'other', repeat('x', 1000))");
      expect(await isConfirmed(afterRows)).toBe(false);
      return performance.now() > until;
    });
    expect((await slotOf(postgres.url, slot))?.active).toBe(true);
    await relay.kill();
    await kafka.restart();
    const again = await streaming();
    await allArrived();
    await eventually(() => isConfirmed(afterRows));
    expect(beforeRows).not.toBe(afterRows);
    expect(again.relay.status.session?.rows).toBe(0);
  });

  it('O3: goes on after Kafka was killed under load, in order, and so do consumers (B108)', async () => {
    const { relay, retries } = await streaming();
    const reader = await new Reader(kafka.brokers, [topic]).start();
    readers.push(reader);
    const load = writeConcurrently(writer, { workers: 3, transactions: 120, runsPerWorker: 3 });
    await eventually(() => writer.rows.length > 50);
    await kafka.kill();
    await load;
    await eventually(() => retries.size > 0 || (relay.status.session?.rows ?? 0) > 0);
    expect(relay.status.phase).toBe('streaming');
    await kafka.restart();
    await eventually(() => reader.has(writer.rows), { what: 'all rows at the consumer', timeoutMs: 45_000 });
    expectAllInOrder(reader, writer.rows);
  });

  it('goes on after PostgreSQL was killed under load, and nothing that was committed is missing', async () => {
    const { relay } = await streaming();
    const load = writeConcurrently(writer, { workers: 3, transactions: 400, runsPerWorker: 3 }).catch(() => 'cut off');
    await eventually(() => writer.rows.length > 100);
    await postgres.kill();
    expect(await load).toBe('cut off');
    await eventually(() => relay.status.phase === 'reconnecting');
    await postgres.restart();
    await eventually(() => relay.status.phase === 'streaming', { timeoutMs: 30_000, what: 'the stream' });
    await writer.write([randomUUID()]);
    await allArrived();
  });

  it('does not hold up a shutdown of PostgreSQL when it is idle, nor the recycling of its log (B96)', async () => {
    const { relay } = await streaming();
    await writer.write([randomUUID()]);
    await sql(postgres.url, 'CREATE TABLE other AS SELECT generate_series(1, 100000) AS n');
    const afterOther = await position();
    await eventually(() => isConfirmed(afterOther), { what: 'the idle slot to follow' });
    const from = performance.now();
    await postgres.stop();
    expect(performance.now() - from).toBeLessThan(5000);
    await postgres.restart();
    await eventually(() => relay.status.phase === 'streaming', { timeoutMs: 30_000, what: 'the stream' });
    await writer.write([randomUUID()]);
    // The position that the shutdown confirmed is known to this process: the table is not read again.
    await allArrived((reader) => expect(reader.messages).toHaveLength(writer.rows.length));
  });

  it('reads the table when its slot was invalidated, and makes a new one (B100)', async () => {
    await (await streaming()).relay.stop();
    await writeConcurrently(writer, { workers: 2, transactions: 20, runsPerWorker: 1 });
    await sql(postgres.url, "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
    await sql(postgres.url, 'SELECT pg_reload_conf()');
    await eventually(
      async () => {
        await sql(postgres.url, "SELECT pg_logical_emit_message(true, 'filler', repeat('x', 1000))");
        await sql(postgres.url, 'SELECT pg_switch_wal()');
        await sql(postgres.url, 'CHECKPOINT');
        const [row] = await sql<{ wal_status: string }>(
          postgres.url,
          'SELECT wal_status FROM pg_replication_slots WHERE slot_name = $1',
          [slot],
        );
        return row?.wal_status === 'lost';
      },
      { timeoutMs: 30_000, what: 'the slot to be lost' },
    );
    const { log } = await streaming();
    expect(log.some((line) => line.startsWith('SLOT_LOST'))).toBe(true);
    await writer.write([randomUUID()]);
    await allArrived();
    await sql(postgres.url, 'ALTER SYSTEM RESET max_slot_wal_keep_size');
  });
});
