import { createLaneProducer, partitionFor, type LaneMessage } from '@baton/bus-kafka';
import { single } from '@baton/engine/testing';
import { completedReport, engineOn } from '@baton/storage-postgres/testing';
import { createDatabase, eventually, kafkaBrokers } from '@baton/testkit';
import { randomBytes, randomUUID } from 'node:crypto';
import { Client, type QueryResultRow } from 'pg';

const PARTITIONS = 3;
const ROWS = `SELECT id, run_id, run_seq, topic, type, payload FROM baton.outbox ORDER BY seq`;

export interface Row {
  readonly id: string;
  readonly run_id: string;
  readonly run_seq: string;
  readonly topic: string;
  readonly type: string;
  readonly payload: string;
}

/** Runs of a namespace of their own, whose messages a relay of the test's publishes: the Kafka is everybody's. */
export class PublishedRuns {
  private readonly name = randomBytes(5).toString('hex');
  readonly namespace = `ns-${this.name}`;
  readonly slot = `doctor_${this.name}`;

  private constructor(
    readonly url: string,
    readonly brokers: string,
    private readonly client: Client,
    private readonly dropDatabase: () => Promise<void>,
  ) {}

  static async open(): Promise<PublishedRuns> {
    const { url, drop } = await createDatabase({ major: 18 });
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    const opened = new PublishedRuns(url, await kafkaBrokers(), client, drop);
    await opened.query(
      `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash) VALUES ($1, 'single', 1, $2, 'h')`,
      [opened.namespace, single],
    );
    await client.query(`SELECT pg_create_logical_replication_slot('${opened.slot}', 'pgoutput')`);
    return opened;
  }

  async query<T extends QueryResultRow>(sql: string, values: unknown[] = []): Promise<readonly T[]> {
    return (await this.client.query<T>(sql, values)).rows;
  }

  /** Runs to their end; answers their ids. */
  async run(count: number): Promise<readonly string[]> {
    const { engine, close } = engineOn(this.url);
    const { namespace } = this;
    const runIds: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const { runId } = await engine.start({ namespace, definitionId: 'single', definitionVersion: 1, input: null });
      const sql = `SELECT task_id, node_id FROM baton.task_instances WHERE run_id = $1`;
      const [task] = await this.query<{ task_id: string; node_id: string }>(sql, [runId]);
      const open = { taskId: task?.task_id ?? '', nodeId: task?.node_id ?? '', attempt: 1 };
      await engine.report({ ...completedReport(runId, open), namespace });
      runIds.push(runId);
    }
    await close();
    return runIds;
  }

  rows(): Promise<readonly Row[]> {
    return this.query<Row>(ROWS);
  }

  /** As the relay does, in this order; `change` may leave out a message or make another of it. */
  async publish(
    rows: readonly Row[],
    change: (message: LaneMessage, row: Row) => LaneMessage | null = (message) => message,
  ): Promise<void> {
    const producer = createLaneProducer({ brokers: [this.brokers], clientId: 'doctor-spec' });
    try {
      for (const row of rows) {
        const headers = { id: row.id, run_seq: row.run_seq, type: row.type };
        const message = change({ key: row.run_id, value: Buffer.from(row.payload), headers }, row);
        await producer.ensureTopic(row.topic, { partitions: PARTITIONS, replicationFactor: 1 });
        if (message === null) continue;
        // A topic that was made a moment ago may have no leader yet.
        const lane = partitionFor(row.run_id, PARTITIONS);
        await eventually(() => producer.sendLane(row.topic, lane, [message]));
      }
    } finally {
      await producer.close();
    }
  }

  /** What a relay writes when all that is committed has been published. */
  async confirm(): Promise<void> {
    await this.query(
      `INSERT INTO baton.relay_state (slot_name, epoch, owner, end_lsn, published_before, commit_ts)
       VALUES ($1, 1, $2, pg_current_wal_lsn(), pg_current_snapshot(), now())
       ON CONFLICT (slot_name) DO UPDATE SET published_before = excluded.published_before, end_lsn = excluded.end_lsn`,
      [this.slot, randomUUID()],
    );
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.dropDatabase();
  }
}
