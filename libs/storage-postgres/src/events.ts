import { StoreError } from '@baton/engine';
import { instant, integer, text, textOrNull } from './decode.js';
import { Database, type PoolOptions, type Row } from './pool.js';

/** One row of the outbox, as a reader of events sees it. */
export interface OutboxEvent {
  /** The position of this event: reading goes on after it. Opaque. */
  readonly cursor: string;
  /** Unique; the same when the event is read again. */
  readonly id: string;
  readonly namespace: string;
  readonly runId: string;
  /** Rises by one with each event of the run. */
  readonly runSeq: number;
  readonly topic: string;
  readonly type: string;
  /** JSON text. */
  readonly payload: string;
  readonly traceparent: string | null;
  readonly at: Date;
}

export interface EventPage {
  /** In the order of their cursors; of one run in the order of `runSeq`. */
  readonly events: readonly OutboxEvent[];
  /**
   * Where to go on. After a page that was not full this is the horizon: everything before it has been read. It belongs
   * to this database cluster: after a dump and restore a reader begins anew.
   */
  readonly next: string;
}

export interface EventReader {
  /** At most `limit` events after the cursor; null = from the first that is kept. Takes no lock. */
  read(namespace: string, after: string | null, limit: number): Promise<EventPage>;
  /** The position after everything that can be read now. */
  head(): Promise<string>;
  close(): Promise<void>;
}

interface Position {
  readonly xid: string;
  readonly seq: string;
}

const START: Position = { xid: '0', seq: '0' };
const CURSOR = /^(\d{1,20})-(\d{1,19})$/;

/** Reads the events of runs from the outbox, where there is no relay that puts them on Kafka. Owns its pool. */
export function createEventReader(options: PoolOptions): EventReader {
  const db = new Database({ poolSize: 1, ...options });
  return {
    read: (namespace, after, limit) => readEvents(db, namespace, after, limit),
    async head() {
      const [row] = await db.runRepeatable('event-horizon', {});
      return horizonOf(row);
    },
    close: () => db.close(),
  };
}

async function readEvents(db: Database, namespace: string, after: string | null, limit: number): Promise<EventPage> {
  if (!Number.isInteger(limit) || limit < 1)
    throw new RangeError(`limit is ${limit}: at least 1 event must be asked for`);
  const position = after === null ? START : parseCursor(after);
  const rows = await db.runRepeatable('read-outbox', { namespace, ...position, limit });
  const events = rows.filter((row) => row[1] !== null).map((row) => decodeEvent(namespace, row));
  const last = events.at(-1);
  if (last !== undefined && events.length === limit) return { events, next: last.cursor };
  return { events, next: later(position, horizonOf(rows[0])) };
}

/** A cursor of a cluster that is ahead (a standby that was promoted too early) must not be thrown back. */
function later(position: Position, horizon: string): string {
  return BigInt(position.xid) > BigInt(parseCursor(horizon).xid) ? cursorOf(position.xid, position.seq) : horizon;
}

function horizonOf(row: Row | undefined): string {
  if (row === undefined) throw new StoreError('unavailable', 'the database did not tell its horizon');
  return cursorOf(text(row[0]), '0');
}

function decodeEvent(namespace: string, row: Row): OutboxEvent {
  return {
    cursor: cursorOf(text(row[1]), text(row[2])),
    id: text(row[3]),
    namespace,
    runId: text(row[4]),
    runSeq: integer(row[5]),
    topic: text(row[6]),
    type: text(row[7]),
    payload: text(row[8]),
    traceparent: textOrNull(row[9]),
    at: instant(row[10]),
  };
}

function cursorOf(xid: string, seq: string): string {
  return `${xid}-${seq}`;
}

function parseCursor(cursor: string): Position {
  const [, xid, seq] = CURSOR.exec(cursor) ?? [];
  if (xid === undefined || seq === undefined) throw new RangeError('this is not a cursor of an event reader');
  return { xid, seq };
}
