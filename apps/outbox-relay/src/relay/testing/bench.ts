import { randomBytes, randomUUID } from 'node:crypto';
import { createBusConsumer, silentLog, type BusConsumer, type BusLog } from '@baton/bus-kafka';
import { Client, Pool } from 'pg';
import { noMetrics, OutboxRelay, type RelayMetrics, type RelayOptions } from '../index.js';

/*
 * What the integration tests share: rows written as the engine writes them (run_seq under the run's lock), relays on a
 * slot of the test's own, and a reader that keeps everything it finds in a topic.
 */

export const unique = (prefix: string): string => `${prefix}${randomBytes(5).toString('hex')}`;

export interface WrittenRow {
  readonly id: string;
  readonly runId: string;
  readonly runSeq: number;
  readonly traceparent: string | null;
}

export interface RowOptions {
  readonly topic?: string;
  readonly payload?: string;
  readonly traceparent?: string | null;
  readonly type?: string;
  /** The transaction stays open until then. */
  readonly until?: Promise<void>;
}

export interface ReceivedMessage {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | null;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

const INSERT = `
INSERT INTO baton.outbox (id, aggregatetype, aggregateid, type, payload, run_id, run_seq, topic, traceparent, shard, namespace, created_at)
VALUES ($1, 'run', $2::uuid::text, $3, $4, $2, $5, $6, $7, 0, 'default', clock_timestamp())`;

/** Writes rows of runs; `rows` is what was committed. */
export class Writer {
  readonly rows: WrittenRow[] = [];
  readonly pool: Pool;
  private readonly seqs = new Map<string, number>();

  constructor(
    url: string,
    readonly topic: string,
  ) {
    this.pool = new Pool({ connectionString: url, max: 8 });
    this.pool.on('error', () => undefined);
  }

  /** One transaction with one row for each run named; counted as written once it has committed. */
  async write(runIds: readonly string[], options: RowOptions = {}): Promise<void> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    const onError = (error: Error): void => {
      broken = error;
    };
    client.on('error', onError);
    try {
      await client.query('BEGIN');
      const written: WrittenRow[] = [];
      for (const runId of runIds) written.push(await this.insert(client, runId, options));
      await options.until;
      await client.query('COMMIT');
      this.rows.push(...written);
    } catch (error) {
      broken = error as Error;
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  private async insert(
    client: Client | import('pg').PoolClient,
    runId: string,
    options: RowOptions,
  ): Promise<WrittenRow> {
    const runSeq = (this.seqs.get(runId) ?? 0) + 1;
    this.seqs.set(runId, runSeq);
    const id = randomUUID();
    const traceparent =
      options.traceparent === undefined
        ? `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`
        : options.traceparent;
    const { topic = this.topic, payload = `{"n":${runSeq}}`, type = 'task.dispatched' } = options;
    await client.query({
      name: 'insert',
      text: INSERT,
      values: [id, runId, type, payload, runSeq, topic, traceparent],
    });
    return { id, runId, runSeq, traceparent };
  }
}

/**
 * `workers` side by side, each with runs of its own, so that one run's rows are written one after the other, as under
 * the run's lock, while transactions overlap.
 */
export async function writeConcurrently(
  writer: Writer,
  plan: {
    readonly workers: number;
    readonly transactions: number;
    readonly runsPerWorker: number;
    /** Time between two transactions of a worker. */
    readonly paceMs?: number;
  },
  isEnough: () => boolean = () => false,
): Promise<void> {
  const work = async (): Promise<void> => {
    const runs = Array.from({ length: plan.runsPerWorker }, () => randomUUID());
    for (let i = 0; i < plan.transactions && !isEnough(); i += 1) {
      if (plan.paceMs !== undefined) await new Promise((resolve) => setTimeout(resolve, plan.paceMs));
      await writer.write(runs.slice(0, 1 + (i % runs.length)));
    }
  };
  await Promise.all(Array.from({ length: plan.workers }, work));
}

export class Reader {
  readonly messages: ReceivedMessage[] = [];
  private readonly consumer: BusConsumer;

  constructor(brokers: string, topics: readonly string[]) {
    this.consumer = createBusConsumer({
      brokers: [brokers],
      clientId: 'relay-spec',
      groupId: unique('relay-spec-'),
      topics,
      createTopics: { partitions: 3, replicationFactor: 1 },
      sessionTimeoutMs: 30_000,
      onBatch: (batch) => {
        for (const { topic, partition, key, value, headers } of batch.messages) {
          this.messages.push({ topic, partition, key, value: value?.toString('utf8') ?? '', headers });
        }
        return Promise.resolve();
      },
    });
  }

  async start(): Promise<this> {
    await this.consumer.start();
    return this;
  }

  async stop(): Promise<void> {
    await this.consumer.stop();
  }

  get ids(): ReadonlySet<string> {
    return new Set(this.messages.map(({ headers }) => headers['id'] ?? ''));
  }

  has(rows: readonly WrittenRow[]): boolean {
    const { ids } = this;
    return rows.every((row) => ids.has(row.id));
  }

  /** run -> its run_seqs by first occurrence in its partition. */
  firstOccurrences(): ReadonlyMap<string, readonly number[]> {
    const runs = new Map<string, number[]>();
    const seen = new Set<string>();
    for (const { key, headers } of this.messages) {
      const id = headers['id'] ?? '';
      if (seen.has(id)) continue;
      seen.add(id);
      const list = runs.get(key ?? '') ?? [];
      list.push(Number(headers['run_seq']));
      runs.set(key ?? '', list);
    }
    return runs;
  }
}

/** Every row arrived, with its id, and each run's first occurrences are in the order of run_seq (L3, I8). */
export function expectAllInOrder(reader: Reader, rows: readonly WrittenRow[]): void {
  const { ids } = reader;
  expect(rows.filter((row) => !ids.has(row.id))).toEqual([]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const { key, headers } of reader.messages) {
    const row = byId.get(headers['id'] ?? '');
    if (row) expect([key, headers['run_seq']]).toEqual([row.runId, String(row.runSeq)]);
  }
  for (const [run, seqs] of reader.firstOccurrences()) {
    expect({ run, seqs }).toEqual({ run, seqs: seqs.toSorted((a, b) => a - b) });
  }
}

export interface RelayUnderTest {
  readonly relay: OutboxRelay;
  readonly retries: Map<string, number>;
  readonly log: string[];
}

export function startRelay(
  options: Pick<RelayOptions, 'databaseUrl' | 'slot'> & Partial<RelayOptions> & { readonly brokers: readonly string[] },
): RelayUnderTest {
  const retries = new Map<string, number>();
  const log: string[] = [];
  const metrics: RelayMetrics = {
    ...noMetrics,
    retried: (code) => retries.set(code, (retries.get(code) ?? 0) + 1),
  };
  const keep = (message: string): void => {
    log.push(message);
  };
  const busLog: BusLog = { ...silentLog, info: keep, warn: keep, error: keep };
  const relay = new OutboxRelay({
    publication: 'baton_outbox',
    owner: unique('relay-'),
    layout: { partitions: 3, replicationFactor: 1 },
    limits: { maxRows: 50_000, maxBytes: 32 * 1024 * 1024 },
    walSenderTimeoutMs: 5000,
    drainMs: 10_000,
    metrics,
    log: busLog,
    ...options,
  });
  relay.start();
  return { relay, retries, log };
}

/** One query on a connection of its own, also while a pool's connections are broken. */
export async function sql<T extends object>(url: string, text: string, values: readonly unknown[] = []): Promise<T[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 3000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<T>(text, [...values])).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

export async function slotOf(
  url: string,
  slot: string,
): Promise<{ readonly active: boolean; readonly confirmed: string } | undefined> {
  const rows = await sql<{ active: boolean; confirmed: string }>(
    url,
    'SELECT active, confirmed_flush_lsn::text AS confirmed FROM pg_replication_slots WHERE slot_name = $1',
    [slot],
  );
  return rows[0];
}
