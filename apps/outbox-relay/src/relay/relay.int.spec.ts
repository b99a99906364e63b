import { randomUUID } from 'node:crypto';
import { eventsTopic, taskTopic } from '@baton/bus-kafka';
import { createDatabase, eventually, kafkaBrokers, type TestDatabase } from '@baton/testkit';
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
import type { RelayOptions } from './index.js';
import { RelayProcess } from './testing/relay-process.js';

// Processes and servers take their time to start when the machine is busy.
jest.setTimeout(180_000);

/** Rows of one database, one relay slot, one topic; each test has its own. */
class Scene {
  readonly slot = unique('relay_');
  readonly topic = taskTopic('default', unique('q'));
  readonly relays: RelayUnderTest[] = [];
  readonly processes: RelayProcess[] = [];
  writer!: Writer;
  reader!: Reader;
  database!: TestDatabase;
  brokers!: string;

  async open(options: Parameters<typeof createDatabase>[0] = {}): Promise<this> {
    this.brokers = await kafkaBrokers();
    this.database = await createDatabase(options);
    this.writer = new Writer(this.database.url, this.topic);
    this.reader = await new Reader(this.brokers, [this.topic]).start();
    return this;
  }

  start(options: Partial<RelayOptions> = {}): RelayUnderTest {
    const relay = startRelay({ databaseUrl: this.database.url, brokers: [this.brokers], slot: this.slot, ...options });
    this.relays.push(relay);
    return relay;
  }

  async streaming(options: Partial<RelayOptions> = {}): Promise<RelayUnderTest> {
    const started = this.start(options);
    await eventually(() => started.relay.status.phase === 'streaming', { what: 'the stream' });
    return started;
  }

  spawn(env: Readonly<Record<string, string>> = {}): RelayProcess {
    const relay = new RelayProcess({
      BATON_DATABASE_URL: this.database.url,
      BATON_KAFKA_BROKERS: this.brokers,
      BATON_RELAY_SLOT: this.slot,
      BATON_TOPIC_PARTITIONS: '3',
      ...env,
    });
    this.processes.push(relay);
    return relay;
  }

  async allArrived(timeoutMs = 60_000): Promise<void> {
    await eventually(() => this.reader.has(this.writer.rows), { what: 'all rows in Kafka', timeoutMs });
    expectAllInOrder(this.reader, this.writer.rows);
  }

  /** The slot stands behind everything that was written. */
  async confirmedAll(): Promise<void> {
    const [end] = await sql<{ lsn: string }>(this.database.url, 'SELECT pg_current_wal_lsn()::text AS lsn');
    await eventually(
      async () => {
        const [row] = await sql<{ ok: boolean }>(
          this.database.url,
          'SELECT confirmed_flush_lsn >= $2::pg_lsn AS ok FROM pg_replication_slots WHERE slot_name = $1',
          [this.slot, end?.lsn],
        );
        return row?.ok === true;
      },
      { what: 'the slot to be confirmed' },
    );
  }

  /** The kept snapshot sees every row: nothing would be read from the table again. */
  async stateCoversAll(): Promise<void> {
    await eventually(
      async () => {
        const [row] = await sql<{ ok: boolean }>(
          this.database.url,
          `SELECT coalesce(bool_and(pg_visible_in_snapshot(o.xid, s.published_before)), false) AS ok
             FROM baton.outbox o, baton.relay_state s WHERE s.slot_name = $1`,
          [this.slot],
        );
        return row?.ok === true;
      },
      { what: 'the state to settle' },
    );
  }

  dead(): Promise<{ readonly id: string; readonly reason: string; readonly run_seq: string }[]> {
    return sql(this.database.url, 'SELECT id, reason, run_seq::text FROM baton.outbox_dead ORDER BY reason, run_seq');
  }

  async close(): Promise<void> {
    await Promise.all([
      ...this.relays.map(({ relay }) => relay.stop()),
      ...this.processes.map((relay) => relay.stop()),
    ]);
    await this.reader.stop();
    await this.writer.close();
    await this.database.drop();
  }
}

describe('The relay', () => {
  let scene: Scene;
  afterEach(() => scene.close());

  it('R31: publishes rows of concurrent transactions, each run in order, with stable ids and its own trace', async () => {
    scene = await new Scene().open();
    scene.start();
    await writeConcurrently(scene.writer, { workers: 6, transactions: 40, runsPerWorker: 4 });
    await scene.allArrived();
    await scene.confirmedAll();
    // Nothing failed, so nothing came twice.
    expect(scene.reader.messages).toHaveLength(scene.writer.rows.length);
    const traces = new Map(scene.writer.rows.map((row) => [row.id, row.traceparent]));
    for (const { headers, partition } of scene.reader.messages) {
      expect(headers['traceparent']).toBe(traces.get(headers['id'] ?? ''));
      expect(headers['type']).toBe('task.dispatched');
      expect(partition).toBeLessThan(3);
    }
  });

  it('R31: keeps the order of a run within each topic, and in one partition of it', async () => {
    scene = await new Scene().open();
    const events = eventsTopic(unique('ns'));
    const eventReader = await new Reader(scene.brokers, [events]).start();
    try {
      scene.start();
      const runs = Array.from({ length: 6 }, () => randomUUID());
      for (let n = 0; n < 40; n += 1) await scene.writer.write(runs, n % 3 === 0 ? { topic: events } : {});
      const all = scene.writer.rows;
      await eventually(() => scene.reader.messages.length + eventReader.messages.length >= all.length, {
        what: 'all rows in both topics',
        timeoutMs: 60_000,
      });
      for (const reader of [scene.reader, eventReader]) {
        const { ids } = reader;
        const rows = all.filter(({ id }) => ids.has(id));
        expect(rows.length).toBeGreaterThan(70);
        expectAllInOrder(reader, rows);
        const places = new Set(reader.messages.map(({ key, partition }) => `${key} ${partition}`));
        expect(places.size).toBe(runs.length);
        expect(new Set(reader.messages.map(({ partition }) => partition)).size).toBeGreaterThan(1);
      }
    } finally {
      await eventReader.stop();
    }
  });

  it('leaves out what was rolled back, and keeps the payload byte for byte', async () => {
    scene = await new Scene().open();
    scene.start();
    const payload = '{"big":9007199254740993, "s":"zażółć \\u0007","deep":[[[]]], "same":1,"same":2}';
    const client = await scene.writer.pool.connect();
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, shard, namespace, created_at)
       VALUES (gen_random_uuid(), 'run', '', 't', 'gone', gen_random_uuid(), 1, $1, 0, 'default', now())`,
      [scene.topic],
    );
    await client.query('ROLLBACK');
    client.release();
    await scene.writer.write([randomUUID()], { payload, traceparent: null });
    await scene.allArrived();
    expect(scene.reader.messages.map(({ value }) => value)).toEqual([payload]);
    expect(scene.reader.messages[0]?.headers).not.toHaveProperty('traceparent');
  });

  it('takes a large transaction through its caps, and the slot with it', async () => {
    scene = await new Scene().open();
    const { relay } = await scene.streaming({ limits: { maxRows: 200, maxBytes: 1024 * 1024 } });
    const runs = Array.from({ length: 1500 }, () => randomUUID());
    await scene.writer.write(runs, { payload: `"${'x'.repeat(400)}"` });
    await scene.allArrived();
    await scene.confirmedAll();
    expect(relay.status.session?.pausedMs).toBeGreaterThan(0);
    expect(relay.status.session).toMatchObject({ rows: 0, bytes: 0 });
  });

  it('O2: is killed again and again under load, and loses nothing', async () => {
    scene = await new Scene().open();
    let relay = scene.spawn();
    let isEnough = false;
    const load = writeConcurrently(
      scene.writer,
      { workers: 4, transactions: 20_000, runsPerWorker: 3, paceMs: 8 },
      () => isEnough,
    );
    for (let kills = 0; kills < 3; kills += 1) {
      const before = scene.reader.messages.length;
      // A kill counts only with rows under way: some of this relay's have arrived, and not all that are committed.
      await eventually(
        () => scene.reader.messages.length > before + 50 && scene.reader.ids.size < scene.writer.rows.length,
        { timeoutMs: 60_000, what: 'rows under way', intervalMs: 5 },
      );
      await relay.kill();
      relay = scene.spawn();
    }
    isEnough = true;
    await load;
    await scene.allArrived();
    await scene.confirmedAll();
  });
});

describe('Rows that can never be published', () => {
  let scene: Scene;
  afterEach(() => scene.close());

  it('O3: are kept in outbox_dead with their reason, and stop nothing (B98, B99)', async () => {
    scene = await new Scene().open();
    scene.start();
    const run = randomUUID();
    await scene.writer.write([run]);
    await scene.writer.write([run], { payload: `"${'x'.repeat(1_500_000)}"` });
    await scene.writer.write([run]);
    await scene.writer.write([run], { topic: 'baton.default.tasks.Not A Topic' });
    await scene.writer.write([run]);
    await writeConcurrently(scene.writer, { workers: 2, transactions: 20, runsPerWorker: 2 });
    const published = scene.writer.rows.filter((row) => row.runId !== run || row.runSeq !== 4);
    await eventually(() => scene.reader.has(published), { what: 'the others in Kafka', timeoutMs: 10_000 });
    expectAllInOrder(scene.reader, published);
    await scene.confirmedAll();
    expect(await scene.dead()).toEqual([
      { id: scene.writer.rows[3]?.id, reason: 'BAD_TOPIC', run_seq: '4' },
      { id: scene.writer.rows[1]?.id, reason: 'MESSAGE_TOO_LARGE', run_seq: '2' },
    ]);
    expect(scene.reader.firstOccurrences().get(run)).toEqual([1, 2, 3, 5]);
    const placeholder = scene.reader.messages.find(({ headers }) => headers['id'] === scene.writer.rows[1]?.id);
    expect(placeholder?.headers).toMatchObject({ type: 'outbox.poisoned', run_seq: '2' });
    const [row] = await sql<{ row_json: string }>(
      scene.database.url,
      "SELECT row_json FROM baton.outbox_dead WHERE reason = 'MESSAGE_TOO_LARGE'",
    );
    expect((JSON.parse(row?.row_json ?? '{}') as { payload: string }).payload).toHaveLength(1_500_002);
  });
});

describe('The slot', () => {
  let scene: Scene;
  afterEach(() => scene.close());

  it('is made by the relay, and rows from before it are published first (R26, B104)', async () => {
    scene = await new Scene().open();
    await writeConcurrently(scene.writer, { workers: 3, transactions: 10, runsPerWorker: 2 });
    scene.start();
    await writeConcurrently(scene.writer, { workers: 3, transactions: 10, runsPerWorker: 2 });
    await scene.allArrived();
    expect(scene.reader.messages).toHaveLength(scene.writer.rows.length);
  });

  it('R26: that is made while transactions run has each of their rows once, the older rows of a run first', async () => {
    scene = await new Scene().open();
    const [run, late] = [randomUUID(), randomUUID()];
    for (let n = 0; n < 3; n += 1) await scene.writer.write([run]);
    let commit = (): void => undefined;
    const until = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const open = scene.writer.write([late], { until });
    await eventually(async () => {
      const [row] = await sql<{ open: boolean }>(
        scene.database.url,
        `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'
           AND backend_xid IS NOT NULL) AS open`,
      );
      return row?.open === true;
    });
    const { relay } = scene.start();
    // The slot has no consistent point while that transaction runs.
    await eventually(() => relay.status.phase === 'creating-slot', { what: 'the slot to wait' });
    await scene.writer.write([run]);
    expect(relay.status.phase).toBe('creating-slot');
    commit();
    await open;
    await scene.writer.write([run, late]);
    await scene.allArrived();
    expect(scene.reader.messages).toHaveLength(scene.writer.rows.length);
  });

  it('R26: waits for the publication, and says so (B101)', async () => {
    scene = await new Scene().open();
    await sql(scene.database.url, 'DROP PUBLICATION baton_outbox');
    const { relay, log } = scene.start();
    await eventually(() => relay.status.phase === 'waiting-for-publication');
    expect(relay.notReady()).toContain('publication baton_outbox does not exist: run "baton migrate up"');
    await scene.writer.write([randomUUID()]);
    expect(await slotOf(scene.database.url, scene.slot)).toBeUndefined();
    await sql(
      scene.database.url,
      "CREATE PUBLICATION baton_outbox FOR TABLE baton.outbox WITH (publish = 'insert', publish_via_partition_root = true)",
    );
    await scene.allArrived();
    await eventually(() => relay.notReady() === undefined);
    expect(log.filter((line) => line.includes('does not exist'))).toHaveLength(1);
  });

  it('that was dropped while rows waited is made again, and nothing is missing (B100)', async () => {
    scene = await new Scene().open();
    const first = await scene.streaming();
    await scene.writer.write([randomUUID(), randomUUID()]);
    await scene.allArrived();
    await scene.stateCoversAll();
    await first.relay.stop();
    await sql(scene.database.url, 'SELECT pg_drop_replication_slot($1)', [scene.slot]);
    await writeConcurrently(scene.writer, { workers: 2, transactions: 20, runsPerWorker: 2 });
    const { log } = scene.start();
    await scene.allArrived();
    expect(log.some((line) => line.startsWith('SLOT_LOST'))).toBe(true);
    // Only what was not published yet is read from the table.
    expect(scene.reader.messages).toHaveLength(scene.writer.rows.length);
  });

  it('that somebody dropped and made again is noticed by its position (B100)', async () => {
    scene = await new Scene().open();
    const first = await scene.streaming();
    await scene.writer.write([randomUUID()]);
    await scene.allArrived();
    await first.relay.stop();
    await sql(scene.database.url, 'SELECT pg_drop_replication_slot($1)', [scene.slot]);
    await writeConcurrently(scene.writer, { workers: 2, transactions: 20, runsPerWorker: 1 });
    await sql(scene.database.url, "SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [scene.slot]);
    scene.start();
    await scene.allArrived();
  });

  it('that is older than the publication is broken for ever on PostgreSQL 15, and replaced (B101)', async () => {
    scene = await new Scene().open({ major: 15 });
    const publication = "FOR TABLE baton.outbox WITH (publish = 'insert', publish_via_partition_root = true)";
    await sql(scene.database.url, 'DROP PUBLICATION baton_outbox');
    await sql(scene.database.url, "SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [scene.slot]);
    await scene.writer.write([randomUUID()]);
    await sql(scene.database.url, `CREATE PUBLICATION baton_outbox ${publication}`);
    await scene.writer.write([randomUUID()]);
    const { relay } = scene.start();
    await scene.allArrived();
    await eventually(() => relay.status.phase === 'streaming');
    await scene.writer.write([randomUUID()]);
    await scene.allArrived();
    await scene.confirmedAll();
  });

  it('of another plugin is refused with a sentence that helps', async () => {
    scene = await new Scene().open();
    await sql(scene.database.url, "SELECT pg_create_logical_replication_slot($1, 'test_decoding')", [scene.slot]);
    const { relay } = scene.start();
    await eventually(() => relay.notReady()?.includes('belongs to another database or plugin'));
  });

  it('does not go back after an orderly stop: nothing is sent twice', async () => {
    scene = await new Scene().open();
    for (let round = 0; round < 3; round += 1) {
      const { relay } = await scene.streaming();
      await scene.writer.write([randomUUID(), randomUUID()]);
      await scene.allArrived();
      await relay.stop();
    }
    scene.start();
    await scene.writer.write([randomUUID()]);
    await scene.allArrived();
    expect(scene.reader.messages).toHaveLength(scene.writer.rows.length);
  });
});

describe('Two relays', () => {
  let scene: Scene;
  afterEach(() => scene.close());

  it('share one slot: one streams, one stands by and takes over at once from a stop (B103)', async () => {
    scene = await new Scene().open();
    const one = await scene.streaming();
    const two = scene.start();
    await eventually(() => two.relay.status.phase === 'standby');
    expect(two.relay.notReady()).toBeUndefined();
    await scene.writer.write([randomUUID()]);
    await scene.allArrived();
    const load = writeConcurrently(scene.writer, { workers: 3, transactions: 30, runsPerWorker: 2 });
    const from = performance.now();
    await one.relay.stop();
    await eventually(() => two.relay.status.phase === 'streaming');
    expect(performance.now() - from).toBeLessThan(3000);
    await load;
    await scene.allArrived();
  });

  it('survive that the active one is frozen: the other takes over, and the zombie sends nothing out of order (L5)', async () => {
    scene = await new Scene().open();
    const frozen = scene.spawn();
    await eventually(() => frozen.isStreaming, { timeoutMs: 60_000 });
    const { relay } = scene.start();
    const load = writeConcurrently(scene.writer, { workers: 3, transactions: 60, runsPerWorker: 2 });
    await eventually(() => scene.reader.messages.length > 20);
    frozen.signal('SIGSTOP');
    const from = performance.now();
    await eventually(() => relay.status.phase === 'streaming', { timeoutMs: 30_000, what: 'the takeover' });
    expect(performance.now() - from).toBeLessThan(7500);
    await load;
    await scene.allArrived();
    frozen.signal('SIGCONT');
    await eventually(() => frozen.said('the relay lost its stream'));
    await scene.writer.write([randomUUID()]);
    await scene.allArrived();
    expect(relay.status.phase).toBe('streaming');
  });
});
