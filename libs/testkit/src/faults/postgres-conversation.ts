import { Splitter, type Answer, type Conversation, type Request } from './conversation.js';
import { commits, opensTransaction, rollsBack, statementsOf, writes } from './sql.js';

const SSL_REQUEST = 80877103;
const GSSENC_REQUEST = 80877104;

/**
 * The PostgreSQL protocol, version 3, as far as it takes to find the message that commits:
 * a simple query or an executed statement that is COMMIT or END; and, outside of a transaction, the end (Sync, or the
 * query itself) of whatever writes: that commits by itself.
 */
export class PostgresConversation implements Conversation {
  private readonly client = new Splitter();
  private readonly server = new Splitter();
  private phase: 'startup' | 'messages' | 'encrypted' = 'startup';
  /** The server answers a request for encryption with one byte. */
  private awaitsByte = false;
  private readonly prepared = new Map<string, string>();
  private readonly portals = new Map<string, string>();
  /** Statements that were executed since the last Sync. */
  private executed: string[] = [];
  private inTransaction = false;
  /** The first ReadyForQuery ends the authentication; after that each query and each Sync is answered by one. */
  private isReady = false;
  private asked = 0;
  private answered = 0;

  fromClient(chunk: Buffer): readonly Request[] {
    if (this.phase === 'encrypted') return [{ bytes: chunk, decisive: null, exchange: 0 }];
    this.client.push(chunk);
    const requests: Request[] = [];
    for (;;) {
      const message = this.client.next(this.phase === 'startup' ? untypedSize : typedSize);
      if (message === undefined) return requests;
      const exchange = this.asked + 1;
      const decisive = this.phase === 'startup' ? this.begin(message) : this.hear(message);
      requests.push({ bytes: message, decisive, exchange });
    }
  }

  fromServer(chunk: Buffer): readonly Answer[] {
    if (this.phase === 'encrypted') return [{ bytes: chunk, exchange: -1, isLast: false, isFailure: false }];
    this.server.push(chunk);
    const answers: Answer[] = [];
    for (;;) {
      const message = this.server.next(this.awaitsByte ? () => 1 : typedSize);
      if (message === undefined) return answers;
      answers.push(this.answer(message));
    }
  }

  private begin(message: Buffer): null {
    const code = message.readInt32BE(4);
    this.awaitsByte = code === SSL_REQUEST || code === GSSENC_REQUEST;
    if (!this.awaitsByte) this.phase = 'messages';
    return null;
  }

  private hear(message: Buffer): string | null {
    const body = message.subarray(5);
    switch (String.fromCharCode(message[0] ?? 0)) {
      case 'P': {
        const [name, sql] = texts(body);
        this.prepared.set(name, sql);
        return null;
      }
      case 'B': {
        const [portal, name] = texts(body);
        this.portals.set(portal, this.prepared.get(name) ?? '');
        return null;
      }
      case 'E':
        return this.execute(this.portals.get(texts(body)[0]) ?? '');
      case 'S': {
        const sql = this.executed.join(';\n');
        this.executed = [];
        return this.end(sql);
      }
      case 'Q':
        return this.end(texts(body)[0]);
      default:
        return null;
    }
  }

  /** A COMMIT takes place when it is executed; what commits by itself waits for the Sync. */
  private execute(sql: string): string | null {
    if (statementsOf(sql).some(commits)) {
      this.inTransaction = false;
      return sql;
    }
    this.executed.push(sql);
    return null;
  }

  /** The server acts on everything since the last ReadyForQuery. */
  private end(sql: string): string | null {
    this.asked += 1;
    let isDecisive = false;
    let hasWritten = false;
    for (const statement of statementsOf(sql)) {
      if (commits(statement)) {
        isDecisive = true;
        this.inTransaction = false;
      } else if (rollsBack(statement)) this.inTransaction = false;
      else if (opensTransaction(statement)) this.inTransaction = true;
      else hasWritten ||= writes(statement);
    }
    return isDecisive || (hasWritten && !this.inTransaction) ? sql : null;
  }

  private answer(message: Buffer): Answer {
    if (this.awaitsByte) {
      this.awaitsByte = false;
      if (message.toString('latin1') !== 'N') this.phase = 'encrypted';
      return { bytes: message, exchange: -1, isLast: false, isFailure: false };
    }
    const type = String.fromCharCode(message[0] ?? 0);
    const exchange = this.isReady ? this.answered + 1 : 0;
    if (type !== 'Z') return { bytes: message, exchange, isLast: false, isFailure: isFailure(type, message) };
    if (this.isReady) this.answered += 1;
    this.isReady = true;
    // What was guessed from the texts is put right whenever nothing is under way.
    if (this.asked === this.answered) this.inTransaction = message[5] !== 'I'.charCodeAt(0);
    return { bytes: message, exchange, isLast: true, isFailure: false };
  }
}

function isFailure(type: string, message: Buffer): boolean {
  return type === 'E' || (type === 'C' && texts(message.subarray(5))[0] === 'ROLLBACK');
}

/** The first two texts of a message, each ended by a zero byte. */
function texts(body: Buffer): readonly [string, string] {
  const first = body.indexOf(0);
  const second = body.indexOf(0, first + 1);
  return [body.toString('utf8', 0, Math.max(0, first)), body.toString('utf8', first + 1, Math.max(first + 1, second))];
}

function untypedSize(start: Buffer): number | undefined {
  return start.length < 4 ? undefined : start.readInt32BE(0);
}

function typedSize(start: Buffer): number | undefined {
  return start.length < 5 ? undefined : start.readInt32BE(1) + 1;
}
