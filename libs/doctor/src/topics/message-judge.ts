import { parseTopic, type ConsumedMessage } from '@baton/bus-kafka';
import { setTimeout as sleep } from 'node:timers/promises';
import { readBounds, type Bounds } from '../bounds.js';
import type { Collector } from '../collector.js';
import { millisOf } from '../instants.js';
import type { Session } from '../session.js';

/** A row of rows-of-messages.sql. */
interface KnownRow {
  readonly run_id: string;
  readonly namespace: string | null;
  readonly at: string | null;
  readonly id: string | null;
  readonly run_seq: string | null;
  readonly topic: string | null;
  readonly type: string | null;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const RUNS_AT_ONCE = 200;
const POISONED = 'outbox.poisoned';
/** A commit that a relay has read from the log can be invisible for a moment. */
const VISIBLE_AFTER_MS = 1_000;

/** I8: every message is an outbox row, with the row's own id, number, type and topic. */
export class MessageJudge {
  private readonly suspects: ConsumedMessage[] = [];
  private readonly told = new Set<string>();

  constructor(
    private readonly session: Session,
    private readonly collector: Collector,
  ) {}

  async take(messages: readonly ConsumedMessage[]): Promise<void> {
    for (const message of await this.unknown(messages)) this.suspects.push(message);
  }

  async finish(): Promise<void> {
    if (this.suspects.length === 0) return;
    await sleep(VISIBLE_AFTER_MS);
    for (const message of await this.unknown(this.suspects)) this.addUnknown(message);
  }

  private async unknown(messages: readonly ConsumedMessage[]): Promise<readonly ConsumedMessage[]> {
    const byRun = new Map<string, ConsumedMessage[]>();
    const strangers: ConsumedMessage[] = [];
    for (const message of messages) {
      if (message.key === null || !UUID.test(message.key)) strangers.push(message);
      else byRun.set(message.key, [...(byRun.get(message.key) ?? []), message]);
    }
    const bounds = await readBounds(this.session);
    const runIds = [...byRun.keys()];
    for (let at = 0; at < runIds.length; at += RUNS_AT_ONCE) {
      const some = runIds.slice(at, at + RUNS_AT_ONCE);
      const rows = await this.session.rows<KnownRow>('rows-of-messages', [some]);
      const known = Map.groupBy(rows, (row) => row.run_id);
      for (const runId of some) strangers.push(...this.judge(byRun.get(runId) ?? [], known.get(runId) ?? [], bounds));
    }
    return strangers;
  }

  private judge(
    messages: readonly ConsumedMessage[],
    rows: readonly KnownRow[],
    bounds: Bounds,
  ): readonly ConsumedMessage[] {
    const present = rows.some((row) => row.namespace !== null);
    // The rows, or the whole run, may have gone with their partition; messages live as long as Kafka keeps them.
    const runId = rows[0]?.run_id ?? '';
    const mayBeDropped = present
      ? rows.some((row) => row.at !== null && millisOf(row.at) < bounds.outboxMs)
      : runId < bounds.runs;
    return messages.filter((message) => {
      const row = rows.find((known) => known.id === message.headers['id']);
      if (row === undefined) return !mayBeDropped;
      if (!isSame(message, row)) this.addDifferent(message, row);
      return false;
    });
  }

  private addUnknown(message: ConsumedMessage): void {
    const id = message.headers['id'] ?? 'none';
    if (this.told.has(id)) return;
    this.told.add(id);
    const text = `no outbox row has the id ${id} (${place(message)})`;
    const runId = message.key !== null && UUID.test(message.key) ? { runId: message.key } : {};
    this.collector.add({ invariant: 'I8', code: 'MESSAGE_UNKNOWN', message: text, ...namespaceOf(message), ...runId });
  }

  private addDifferent(message: ConsumedMessage, row: KnownRow): void {
    if (this.told.has(row.id ?? '')) return;
    this.told.add(row.id ?? '');
    const said = `run_seq ${message.headers['run_seq'] ?? 'none'}, ${message.headers['type'] ?? 'no type'}`;
    const text = `${said} (${place(message)}), but the outbox row is run_seq ${row.run_seq ?? ''}, ${row.type ?? ''} on ${row.topic ?? ''}`;
    const about = { ...namespaceOf(message), runId: row.run_id };
    this.collector.add({ invariant: 'I8', code: 'MESSAGE_DIFFERS', message: text, ...about });
  }
}

function isSame({ topic, headers }: ConsumedMessage, row: KnownRow): boolean {
  const type = headers['type'];
  // R8: the place of a row that could not be published is taken by a placeholder.
  return topic === row.topic && headers['run_seq'] === row.run_seq && (type === row.type || type === POISONED);
}

export function place({ topic, partition, offset }: ConsumedMessage): string {
  return `${topic}, partition ${partition}, offset ${offset}`;
}

export function namespaceOf({ topic }: ConsumedMessage): { readonly namespace?: string } {
  const name = parseTopic(topic);
  return name === undefined ? {} : { namespace: name.namespace };
}
