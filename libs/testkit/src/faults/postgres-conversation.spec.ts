import { PostgresConversation } from './postgres-conversation.js';

const SSL_REQUEST = 80877103;
const GSSENC_REQUEST = 80877104;
const VERSION_3 = 196608;

function untyped(code: number, rest = ''): Buffer {
  const body = Buffer.alloc(8 + rest.length);
  body.writeInt32BE(body.length, 0);
  body.writeInt32BE(code, 4);
  body.write(rest, 8);
  return body;
}

function message(type: string, ...texts: string[]): Buffer {
  const body = Buffer.from(texts.map((text) => `${text}\0`).join(''));
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

function ready(status: string): Buffer {
  return Buffer.concat([Buffer.from([0x5a, 0, 0, 0, 5]), Buffer.from(status)]);
}

const startup = untyped(VERSION_3, 'user\0baton\0\0');
const query = (sql: string): Buffer => message('Q', sql);
const sync = message('S');
const prepared = (sql: string, name = ''): Buffer =>
  Buffer.concat([message('P', name, sql), message('B', '', name), message('E', ''), sync]);

function begun(): PostgresConversation {
  const conversation = new PostgresConversation();
  conversation.fromClient(startup);
  conversation.fromServer(ready('I'));
  return conversation;
}

/** Texts of the messages that commit. */
function decisive(conversation: PostgresConversation, ...chunks: Buffer[]): readonly string[] {
  return chunks.flatMap((chunk) =>
    conversation.fromClient(chunk).flatMap((request) => (request.decisive === null ? [] : [request.decisive])),
  );
}

describe('what a fault proxy knows of a PostgreSQL connection', () => {
  it.each(['COMMIT', 'commit work', 'END', 'end transaction;', 'COMMIT AND CHAIN', "COMMIT PREPARED 'x'"])(
    'takes %s for the message that commits, as a query and prepared',
    (sql) => {
      for (const way of [query, prepared]) {
        const conversation = begun();
        expect(decisive(conversation, query('BEGIN'), query('INSERT INTO t VALUES (1)'), way(sql))).toEqual([sql]);
      }
    },
  );

  it.each([
    'INSERT INTO t VALUES (1)',
    'WITH w AS (UPDATE t SET a = 1 RETURNING a) SELECT a FROM w',
    'DELETE FROM t',
    'MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DO NOTHING',
    'SELECT * FROM baton.write_step($1)',
    'BEGIN; INSERT INTO t VALUES (1); COMMIT',
  ])('takes what writes outside of a transaction for one: %s', (sql) => {
    expect(decisive(begun(), query(sql))).toEqual([sql]);
  });

  it.each([
    'SELECT 1',
    'SELECT a FROM t FOR UPDATE',
    'SELECT a FROM t FOR NO KEY UPDATE SKIP LOCKED',
    "SELECT 'insert into t; commit'",
    'SELECT 1 -- ; commit',
    'SELECT 1 /* ; END */',
    'BEGIN',
    'ROLLBACK',
    'BEGIN; UPDATE t SET a = 1',
  ])('leaves alone what does not commit: %s', (sql) => {
    expect(decisive(begun(), query(sql), prepared(sql.includes(';') ? 'SELECT 1' : sql))).toEqual([]);
  });

  it('remembers prepared statements by name, and finds the Sync that ends their execution', () => {
    const conversation = begun();
    const insert = 'INSERT INTO t VALUES ($1)';
    expect(decisive(conversation, message('P', 'one', insert), sync)).toEqual([]);
    expect(decisive(conversation, message('B', '', 'one'), message('E', ''))).toEqual([]);
    expect(decisive(conversation, sync)).toEqual([insert]);
    expect(decisive(conversation, query('BEGIN'), message('B', '', 'one'), message('E', ''), sync)).toEqual([]);
  });

  it('takes the execution of a prepared COMMIT for its moment, and not the Sync after it', () => {
    const conversation = begun();
    decisive(conversation, query('BEGIN'), query('INSERT INTO t VALUES (1)'));
    const requests = conversation.fromClient(prepared('COMMIT'));
    expect(requests.map((request) => [request.exchange, request.decisive])).toEqual([
      [3, null],
      [3, null],
      [3, 'COMMIT'],
      [3, null],
    ]);
  });

  it('reads a transaction that was sent in one go, before anything was answered', () => {
    const all = Buffer.concat([
      query('BEGIN'),
      prepared('INSERT INTO t VALUES (1)'),
      query('COMMIT'),
      query('SELECT 1'),
    ]);
    const conversation = begun();
    const requests = conversation.fromClient(all);
    expect(requests.map(({ exchange, decisive: text }) => [exchange, text])).toContainEqual([3, 'COMMIT']);
    expect(Buffer.concat(requests.map(({ bytes }) => bytes))).toEqual(all);
    const answers = conversation.fromServer(
      Buffer.concat([ready('T'), ready('T'), message('C', 'COMMIT'), ready('I')]),
    );
    expect(answers.map(({ exchange, isLast }) => [exchange, isLast])).toEqual([
      [1, true],
      [2, true],
      [3, false],
      [3, true],
    ]);
  });

  it('believes the server about the transaction once nothing is under way', () => {
    const conversation = begun();
    decisive(conversation, query("DO 'anything'"));
    conversation.fromServer(ready('T'));
    expect(decisive(conversation, query('INSERT INTO t VALUES (1)'))).toEqual([]);
  });

  it('takes an error, and a COMMIT that became a rollback, for a failure', () => {
    const conversation = begun();
    decisive(conversation, query('COMMIT'));
    const [rollback, error] = conversation.fromServer(Buffer.concat([message('C', 'ROLLBACK'), message('E', 'S')]));
    expect([rollback?.isFailure, error?.isFailure]).toEqual([true, true]);
  });

  it('puts messages together from single bytes, through the requests for encryption', () => {
    const all = Buffer.concat([startup, query('BEGIN'), prepared('INSERT INTO t VALUES (1)'), query('END')]);
    const conversation = new PostgresConversation();
    const bytes: Buffer[] = [];
    const found: string[] = [];
    const send = (chunk: Buffer): void => {
      for (const byte of chunk) {
        for (const request of conversation.fromClient(Buffer.from([byte]))) {
          bytes.push(request.bytes);
          if (request.decisive !== null) found.push(request.decisive);
        }
      }
    };
    for (const code of [GSSENC_REQUEST, SSL_REQUEST]) {
      send(untyped(code));
      expect(conversation.fromServer(Buffer.from('N')).map((answer) => answer.bytes.toString())).toEqual(['N']);
    }
    send(all);
    expect(found).toEqual(['END']);
    expect(Buffer.concat(bytes.slice(2))).toEqual(all);
  });

  it('passes everything on untouched once the two have agreed to encrypt', () => {
    const conversation = new PostgresConversation();
    conversation.fromClient(untyped(SSL_REQUEST));
    conversation.fromServer(Buffer.from('S'));
    const secret = Buffer.from([0x16, 0x03, 0x01, 0xff]);
    expect(conversation.fromClient(secret).map(({ bytes }) => bytes)).toEqual([secret]);
    expect(conversation.fromServer(secret).map(({ bytes }) => bytes)).toEqual([secret]);
  });
});
