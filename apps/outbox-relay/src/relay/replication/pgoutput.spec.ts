import { OutboxColumns, type OutboxRow } from '../outbox-row.js';
import { binaryTransaction, textTransaction } from '../testing/captured.js';
import { formatLsn } from './lsn.js';
import { PgOutputDecoder, type PgOutputHandler, ProtocolError, type Relation } from './pgoutput.js';

interface Heard {
  readonly steps: string[];
  readonly rows: OutboxRow[];
}

function decode(messages: readonly Buffer[]): Heard {
  const heard: Heard = { steps: [], rows: [] };
  const columns = new Map<number, OutboxColumns>();
  const handler: PgOutputHandler = {
    begin: (lsn) => heard.steps.push(`begin ${formatLsn(lsn)}`),
    relation: (relation) => {
      heard.steps.push(`relation ${relation.table}`);
      columns.set(relation.oid, new OutboxColumns(relation));
    },
    insert: (relation, tuple) => {
      heard.steps.push('insert');
      const row = columns.get(relation.oid)?.read(tuple);
      if (row) heard.rows.push(row);
    },
    commit: (lsn) => heard.steps.push(`commit ${formatLsn(lsn)}`),
  };
  const decoder = new PgOutputDecoder(handler);
  for (const message of messages) decoder.decode(message);
  return heard;
}

const firstRow: OutboxRow = {
  id: '01900000-0000-7000-8000-000000000001',
  runId: '01900000-0000-7000-8000-0000000000aa',
  runSeq: 1n,
  namespace: 'default',
  topic: 'baton.default.tasks.cap',
  type: 'task.dispatched',
  payload: Buffer.from('{"n":9007199254740993,"s":"zażółć"}'),
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  headers: null,
};

describe('A captured transaction', () => {
  it.each([
    ['binary', binaryTransaction],
    ['text', textTransaction],
  ])('is read in the %s form, payload byte for byte', (_form, messages) => {
    const { rows, steps } = decode(messages);
    expect(steps).toEqual([
      expect.stringMatching(/^begin /),
      'relation outbox',
      expect.stringMatching(/^relation outbox_/),
      'insert',
      'insert',
      expect.stringMatching(/^commit /),
    ]);
    expect(rows[0]).toEqual(firstRow);
    expect(rows[1]).toMatchObject({ runSeq: 9223372036854775807n, traceparent: null, type: 'run.started' });
  });

  it('ends behind its commit: the end confirms it, the commit itself would have it sent again', () => {
    const { steps } = decode(binaryTransaction);
    const begin = steps[0]?.replace('begin ', '');
    const end = steps.at(-1)?.replace('commit ', '');
    expect(end).not.toBe(begin);
  });

  it('leaves rows that outlive the buffer they came in', () => {
    const messages = binaryTransaction.map((message) => Buffer.from(message));
    const { rows } = decode(messages);
    for (const message of messages) message.fill(0);
    expect(rows[0]).toEqual(firstRow);
  });
});

describe('The table', () => {
  const relation = (names: readonly string[]): Relation => ({
    oid: 4_294_967_295,
    schema: 'baton',
    table: 'outbox',
    columns: names.map((name) => ({ name, typeOid: 25 })),
  });
  const all = ['id', 'run_id', 'run_seq', 'topic', 'type', 'payload'];

  it('may have columns that the relay does not know, in any order', () => {
    expect(() => new OutboxColumns(relation(['new_one', ...all.toReversed()]))).not.toThrow();
  });

  it.each(all)('must have the column %s', (name) => {
    expect(() => new OutboxColumns(relation(all.filter((other) => other !== name)))).toThrow(`no column ${name}`);
  });

  it('stops the relay, loudly, when its rows do not fit', () => {
    const [begin, , , insert] = binaryTransaction;
    if (!begin || !insert) throw new Error('nothing captured');
    expect(() => decode([begin, insert])).toThrow(ProtocolError);
    const cut = binaryTransaction.map((message) => (message === insert ? message.subarray(0, 60) : message));
    expect(() => decode(cut)).toThrow();
    const unchanged = binaryTransaction.map((message) => Buffer.from(message));
    // The kind of the first value: toasted and unchanged cannot come with an insert.
    unchanged[3]?.write('u', 8);
    expect(() => decode(unchanged)).toThrow(ProtocolError);
  });

  it('has object ids beyond 31 bits', () => {
    const high = binaryTransaction.map((message) => Buffer.from(message));
    for (const index of [1, 3, 4]) high[index]?.writeUInt32BE(4_294_967_295, 1);
    expect(decode(high).rows).toHaveLength(2);
  });
});
