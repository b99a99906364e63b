import { readBounds } from './bounds.js';
import type { Collector } from './collector.js';
import type { Reader, Session } from './session.js';
import type { TopicIndex } from './topics/topic-index.js';

/** A row of page-of-outbox.sql. */
export interface OutboxRow {
  readonly seq: string;
  readonly id: string;
  readonly run_id: string;
  readonly namespace: string;
  readonly run_seq: string;
  readonly topic: string;
  readonly created_at: string;
  readonly published: boolean;
  readonly age_ms: string;
  readonly present: boolean;
  readonly caused: boolean;
}

const PAGE = 1_000;

export interface OutboxWalk {
  readonly session: Session;
  readonly collector: Collector;
  readonly namespace: string | undefined;
  readonly overdueMs: number;
  /** Every row of a transaction that this snapshot sees is in Kafka, says the relay; null = nobody says that. */
  readonly publishedBefore: string | null;
  /** null = topics were not read. */
  readonly topics: TopicIndex | null;
}

/** Every outbox row in the order of seq: it has a cause in its run, and it is where the relay says. */
export async function walkOutbox(walk: OutboxWalk): Promise<void> {
  const { session, collector, namespace, publishedBefore } = walk;
  let after: string | undefined = '0';
  while (after !== undefined) {
    const from: string = after;
    after = await session.snapshot(async (reader) => {
      const bounds = await readBounds(reader);
      const rows = await reader.rows<OutboxRow>('page-of-outbox', [from, PAGE, publishedBefore]);
      const missing: OutboxRow[] = [];
      for (const row of rows) {
        if (namespace !== undefined && row.namespace !== namespace) continue;
        collector.examined.outboxRows += 1;
        if (!row.present && row.run_id < bounds.runs) continue;
        if (!row.caused) addOrphan(row, collector);
        else if (row.published && walk.topics?.lacks(row) === true) missing.push(row);
        else judgeWait(row, walk);
      }
      await judgeMissing(reader, missing, collector);
      collector.progress('outbox', collector.examined.outboxRows);
      return rows.length < PAGE ? undefined : rows.at(-1)?.seq;
    });
  }
}

function addOrphan(row: OutboxRow, collector: Collector): void {
  const { namespace, run_id: runId, run_seq: runSeq } = row;
  const why = row.present ? 'no journal row of its run has its instant' : 'its run does not exist';
  const message = `outbox row ${row.id} (run_seq ${runSeq}): ${why}`;
  collector.add({ invariant: 'I2', code: 'OUTBOX_ROW_WITHOUT_CAUSE', message, namespace, runId });
}

/** Of a relay that streams, rows wait for moments. Without one nobody is told (I7 is not broken: nothing is skipped). */
function judgeWait(row: OutboxRow, { collector, overdueMs, publishedBefore }: OutboxWalk): void {
  if (publishedBefore === null || row.published || Number(row.age_ms) <= overdueMs) return;
  const message = `outbox row ${row.id} has waited for ${Math.round(Number(row.age_ms) / 1000)} s: nobody publishes`;
  const { namespace, run_id: runId } = row;
  collector.add({ invariant: 'I7', code: 'OUTBOX_NOT_PUBLISHED', message, namespace, runId });
}

async function judgeMissing(reader: Reader, rows: readonly OutboxRow[], collector: Collector): Promise<void> {
  if (rows.length === 0) return;
  const dead = await reader.rows<{ id: string }>('dead-rows', [rows.map((row) => row.id)]);
  const buried = new Set(dead.map((row) => row.id));
  for (const row of rows) {
    if (buried.has(row.id)) continue;
    const { namespace, run_id: runId } = row;
    const message = `outbox row ${row.id} (run_seq ${row.run_seq}) is confirmed, but neither in ${row.topic} nor dead`;
    collector.add({ invariant: 'I7', code: 'MESSAGE_MISSING', message, namespace, runId });
  }
}
