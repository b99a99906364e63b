import { DEFAULT_TIMEOUTS, sessionSettings } from '@baton/storage-postgres';
import { Client, type QueryResultRow } from 'pg';
import { statementText } from './statements.js';

export type Columns = QueryResultRow;

/** Statements by name, in one snapshot or each in its own. */
export interface Reader {
  readonly client: Client;
  rows<Row extends Columns>(name: string, values: readonly unknown[]): Promise<readonly Row[]>;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 60_000;

export interface SessionOptions {
  readonly databaseUrl: string;
  readonly statementTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** One connection that cannot write, with the engine's settings: rows by key, one plan (R36). */
export class Session implements Reader {
  private constructor(
    readonly client: Client,
    private readonly signal: AbortSignal | undefined,
  ) {}

  static async open(options: SessionOptions): Promise<Session> {
    const client = new Client({
      connectionString: options.databaseUrl,
      application_name: 'baton doctor',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    });
    // A connection that dies between two statements: the next one says so.
    client.on('error', () => undefined);
    await client.connect();
    const statementMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
    await client.query(
      `${sessionSettings({ ...DEFAULT_TIMEOUTS, statementMs, idleInTransactionMs: 60_000 })}; SET default_transaction_read_only = on`,
    );
    return new Session(client, options.signal);
  }

  async rows<Row extends Columns>(name: string, values: readonly unknown[]): Promise<readonly Row[]> {
    this.signal?.throwIfAborted();
    return (await this.client.query<Row>({ name, text: statementText(name), values: [...values] })).rows;
  }

  /** One consistent snapshot of a live database: what is read in it is of one moment, whatever is committed meanwhile. */
  async snapshot<T>(work: (reader: Reader) => Promise<T>): Promise<T> {
    await this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    try {
      return await work(this);
    } finally {
      // Nothing was written: an error of the end can hide nothing but the first one.
      await this.client.query('ROLLBACK').catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}
