import type { Lsn } from './lsn.js';
import { postgresTimeMs } from './wire.js';

/*
 * pgoutput, protocol version 1: every row belongs to a committed transaction, so it may be published on arrival.
 * Object and transaction ids are unsigned 32 bits. Columns are found by name, from the Relation message that comes
 * before the first row of each session and after every change of the table.
 */

export interface Column {
  readonly name: string;
  readonly typeOid: number;
}

export interface Relation {
  readonly oid: number;
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly Column[];
}

/** Kind of a value in a tuple: null, unchanged (toasted, not sent), text, binary. */
export type ValueKind = 'n' | 'u' | 't' | 'b';

export interface PgOutputHandler {
  begin(commitLsn: Lsn, commitTimeMs: number): void;
  relation(relation: Relation): void;
  insert(relation: Relation, tuple: Tuple): void;
  commit(endLsn: Lsn): void;
}

/** One row, as views on the buffer it came in: copy what is kept before the handler returns. */
export class Tuple {
  private readonly kinds: ValueKind[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];

  constructor(
    private readonly bytes: Buffer,
    offset: number,
  ) {
    const count = bytes.readUInt16BE(offset);
    let at = offset + 2;
    for (let i = 0; i < count; i += 1) {
      const kind = kindOf(bytes[at]);
      at += 1;
      let end = at;
      if (kind === 't' || kind === 'b') {
        end = at + 4 + bytes.readInt32BE(at);
        at += 4;
      }
      if (end > bytes.length) throw new ProtocolError('a value reaches beyond its message');
      this.kinds.push(kind);
      this.starts.push(at);
      this.ends.push(end);
      at = end;
    }
  }

  get length(): number {
    return this.kinds.length;
  }

  kind(index: number): ValueKind {
    const kind = this.kinds[index];
    if (kind === undefined) throw new ProtocolError(`the row has no column ${index}`);
    return kind;
  }

  bytesOf(index: number): Buffer {
    return this.bytes.subarray(this.starts[index], this.ends[index]);
  }
}

export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

const BEGIN = 0x42; // B
const COMMIT = 0x43; // C
const RELATION = 0x52; // R
const INSERT = 0x49; // I
const NEW_TUPLE = 0x4e; // N

export class PgOutputDecoder {
  private readonly relations = new Map<number, Relation>();

  constructor(private readonly handler: PgOutputHandler) {}

  decode(message: Buffer): void {
    switch (message[0]) {
      case BEGIN:
        this.handler.begin(message.readBigUInt64BE(1), postgresTimeMs(message.readBigInt64BE(9)));
        break;
      case COMMIT:
        // Flags (1), commit LSN (8), end LSN (8): only the end confirms the whole transaction.
        this.handler.commit(message.readBigUInt64BE(10));
        break;
      case RELATION: {
        const relation = readRelation(message);
        this.relations.set(relation.oid, relation);
        this.handler.relation(relation);
        break;
      }
      case INSERT:
        this.insert(message);
        break;
      default:
        // Origin, Type, Truncate, Message, and updates or deletes that the publication leaves out.
        break;
    }
  }

  private insert(message: Buffer): void {
    const oid = message.readUInt32BE(1);
    const relation = this.relations.get(oid);
    if (relation === undefined) throw new ProtocolError(`a row of relation ${oid} came before its description`);
    if (message[5] !== NEW_TUPLE) throw new ProtocolError('an insert without a new row');
    const tuple = new Tuple(message, 6);
    if (tuple.length !== relation.columns.length) {
      throw new ProtocolError(
        `a row of ${relation.table} has ${tuple.length} values for ${relation.columns.length} columns`,
      );
    }
    this.handler.insert(relation, tuple);
  }
}

function readRelation(message: Buffer): Relation {
  const oid = message.readUInt32BE(1);
  const schema = readText(message, 5);
  const table = readText(message, schema.next);
  // Replica identity (1), number of columns (2).
  const count = message.readUInt16BE(table.next + 1);
  const columns: Column[] = [];
  let at = table.next + 3;
  for (let i = 0; i < count; i += 1) {
    // Flags (1), name, type (4), type modifier (4).
    const name = readText(message, at + 1);
    columns.push({ name: name.text, typeOid: message.readUInt32BE(name.next) });
    at = name.next + 8;
  }
  return { oid, schema: schema.text, table: table.text, columns };
}

function readText(message: Buffer, from: number): { readonly text: string; readonly next: number } {
  const end = message.indexOf(0, from);
  if (end < 0) throw new ProtocolError('a text without its end');
  return { text: message.toString('utf8', from, end), next: end + 1 };
}

function kindOf(byte: number | undefined): ValueKind {
  switch (byte) {
    case 0x6e:
      return 'n';
    case 0x75:
      return 'u';
    case 0x74:
      return 't';
    case 0x62:
      return 'b';
    default:
      throw new ProtocolError(`unknown kind of value: ${byte ?? 'none'}`);
  }
}
