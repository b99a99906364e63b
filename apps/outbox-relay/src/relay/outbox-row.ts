import { ProtocolError, type Relation, type Tuple } from './replication/pgoutput.js';

/** A committed row of the outbox, copied out of whatever it came in. */
export interface OutboxRow {
  readonly id: string;
  readonly runId: string;
  readonly runSeq: bigint;
  readonly namespace: string | null;
  readonly topic: string;
  readonly type: string;
  readonly payload: Buffer;
  readonly traceparent: string | null;
  readonly headers: string | null;
}

const ROW_OVERHEAD_BYTES = 1000;

/** What a row costs while it waits: the caps of L7 count this. */
export const costOf = (row: OutboxRow): number => row.payload.length + ROW_OVERHEAD_BYTES;

const UUID = 2950;
const INT8 = 20;
const JSONB = 3802;

const required = ['id', 'run_id', 'run_seq', 'topic', 'type', 'payload'] as const;
const optional = ['namespace', 'traceparent', 'headers'] as const;
type ColumnName = (typeof required)[number] | (typeof optional)[number];

interface Place {
  readonly index: number;
  readonly typeOid: number;
}

/** Where the columns are that the relay needs. Unknown columns are ignored; a missing one stops it, loudly. */
export class OutboxColumns {
  private readonly places = new Map<ColumnName, Place>();

  constructor(relation: Relation) {
    for (const name of [...required, ...optional]) {
      const index = relation.columns.findIndex((column) => column.name === name);
      const column = relation.columns[index];
      if (column !== undefined) this.places.set(name, { index, typeOid: column.typeOid });
    }
    const missing = required.filter((name) => !this.places.has(name));
    if (missing.length > 0) {
      throw new ProtocolError(`${relation.schema}.${relation.table} has no column ${missing.join(', ')}`);
    }
  }

  read(tuple: Tuple): OutboxRow {
    return {
      id: this.text(tuple, 'id'),
      runId: this.text(tuple, 'run_id'),
      runSeq: this.integer(tuple, 'run_seq'),
      namespace: this.optionalText(tuple, 'namespace'),
      topic: this.text(tuple, 'topic'),
      type: this.text(tuple, 'type'),
      payload: this.copy(tuple, 'payload'),
      traceparent: this.optionalText(tuple, 'traceparent'),
      headers: this.optionalText(tuple, 'headers'),
    };
  }

  private optionalText(tuple: Tuple, name: ColumnName): string | null {
    const place = this.places.get(name);
    if (place === undefined || tuple.kind(place.index) === 'n') return null;
    return this.text(tuple, name);
  }

  private text(tuple: Tuple, name: ColumnName): string {
    const { bytes, typeOid, binary } = this.value(tuple, name);
    if (binary && typeOid === UUID) return uuidText(bytes);
    return body(bytes, typeOid, binary).toString('utf8');
  }

  private integer(tuple: Tuple, name: ColumnName): bigint {
    const { bytes, typeOid, binary } = this.value(tuple, name);
    if (!binary) return BigInt(bytes.toString('latin1'));
    if (typeOid === INT8) return bytes.readBigInt64BE(0);
    return BigInt(bytes.readIntBE(0, bytes.length));
  }

  private copy(tuple: Tuple, name: ColumnName): Buffer {
    const { bytes, typeOid, binary } = this.value(tuple, name);
    // pg parses the next message into the same memory: a view kept alive would change under Kafka.
    return Buffer.from(body(bytes, typeOid, binary));
  }

  private value(
    tuple: Tuple,
    name: ColumnName,
  ): { readonly bytes: Buffer; readonly typeOid: number; readonly binary: boolean } {
    const place = this.places.get(name);
    if (place === undefined) throw new ProtocolError(`no column ${name}`);
    const kind = tuple.kind(place.index);
    if (kind === 'n' || kind === 'u') throw new ProtocolError(`column ${name} has no value (kind ${kind})`);
    return { bytes: tuple.bytesOf(place.index), typeOid: place.typeOid, binary: kind === 'b' };
  }
}

/** Binary jsonb begins with a version byte; text and bytea are what they are. */
const body = (bytes: Buffer, typeOid: number, binary: boolean): Buffer =>
  binary && typeOid === JSONB ? bytes.subarray(1) : bytes;

function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
