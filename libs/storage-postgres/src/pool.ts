import { StoreError } from '@baton/engine';
import { Pool, type ClientBase, type PoolClient, type PoolConfig, type QueryArrayConfig } from 'pg';
import { breaksConnection, toConnectError, toStoreError, type Doing } from './errors.js';
import { bind, statement, type StatementValues } from './statements.js';

export interface PoolOptions {
  /** Either this or the fields of `pg`. */
  readonly url?: string;
  readonly config?: PoolConfig;
  /** Connections at most, of all pools of one store together. */
  readonly poolSize?: number;
  readonly applicationName?: string;
  readonly timeouts?: Partial<SessionTimeouts>;
  /**
   * What lies between this process and PostgreSQL. `transaction`: a pooler that hands a server connection out for one
   * transaction at a time (PgBouncer's `pool_mode = transaction`). Nothing then outlives a transaction: settings come
   * with each one, and statements are not prepared, so each is planned anew. Default `none`: direct, or a pooler that
   * keeps one server connection per session.
   */
  readonly pooler?: 'none' | 'transaction';
  /** A connection died, idle or not; its statement fails by itself. For logs and metrics. */
  readonly onConnectionError?: (error: Error) => void;
}

export interface SessionTimeouts {
  /** A process that stopped between two statements must not hold its locks (R7). */
  readonly idleInTransactionMs: number;
  readonly lockMs: number;
  readonly statementMs: number;
  /**
   * To get the answer to a statement. More than what the server allows itself: this ends only the wait for a server, or
   * a network, that has gone silent without closing the connection.
   */
  readonly answerMs: number;
  /** To get a connection. */
  readonly connectMs: number;
}

export const DEFAULT_TIMEOUTS: SessionTimeouts = {
  idleInTransactionMs: 10_000,
  lockMs: 5_000,
  statementMs: 15_000,
  answerMs: 20_000,
  connectMs: 5_000,
};

export const DEFAULT_POOL_SIZE = 10;

/**
 * R36: every statement of the engine finds rows by key. A sequential scan or a merge join is a plan made on wrong
 * numbers; hash joins stay. One plan for all parameters: planning costs more than most statements.
 * Before PostgreSQL 18 a plan that must scan all the same is priced so high that it would be compiled each time: no JIT.
 */
export function sessionSettings(timeouts: SessionTimeouts): string {
  return settings(timeouts)
    .map((setting) => `SET ${setting}`)
    .join('; ');
}

/** R7: sent together with the BEGIN, as one message, so that they hold before the first lock is asked for. */
function pooledBegin(timeouts: SessionTimeouts): string {
  return ['BEGIN', ...settings(timeouts).map((setting) => `SET LOCAL ${setting}`)].join('; ');
}

function settings(timeouts: SessionTimeouts): readonly string[] {
  return [
    'enable_seqscan = off',
    'enable_mergejoin = off',
    'plan_cache_mode = force_generic_plan',
    'jit = off',
    `idle_in_transaction_session_timeout = ${timeouts.idleInTransactionMs}`,
    `lock_timeout = ${timeouts.lockMs}`,
    `statement_timeout = ${timeouts.statementMs}`,
    `timezone = 'UTC'`,
  ];
}

export type Row = readonly unknown[];

/** Statements by name on one connection. */
export interface Session {
  run(name: string, values: StatementValues): Promise<readonly Row[]>;
}

/**
 * The pool of `pg`, with what it leaves to its users: errors of idle and of busy connections never reach the process
 * as an uncaught event, and a connection that broke, or whose transaction could not be ended, is never used again
 * (B116).
 */
export class Database {
  private readonly pool: Pool;
  private readonly pooled: boolean;
  private readonly begin: string;

  constructor(options: PoolOptions) {
    const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    this.pooled = options.pooler === 'transaction';
    this.begin = this.pooled ? pooledBegin(timeouts) : 'BEGIN';
    const initial = sessionSettings(timeouts);
    const report = options.onConnectionError ?? (() => undefined);
    const size = options.poolSize ?? DEFAULT_POOL_SIZE;
    // The types of `pg` do not know `onConnect` yet; its pool awaits it before the connection is handed out.
    const config: PoolConfig & { readonly onConnect?: (client: ClientBase) => Promise<void> } = {
      ...options.config,
      ...(options.url !== undefined && { connectionString: options.url }),
      application_name: options.applicationName ?? 'baton',
      max: size,
      // A few stay open for good: a new one would have to plan every statement again.
      min: Math.min(2, size),
      idleTimeoutMillis: 60_000,
      connectionTimeoutMillis: timeouts.connectMs,
      query_timeout: timeouts.answerMs,
      keepAlive: true,
      ...(!this.pooled && {
        onConnect: async (client: ClientBase) => {
          await client.query(initial);
        },
      }),
    };
    this.pool = new Pool(config);
    // The pool repeats the errors of idle connections; unheard they would end the process.
    this.pool.on('error', () => undefined);
    this.pool.on('connect', (client) => client.on('error', report));
  }

  /** One statement that may be made again when its answer is lost: a read, or a write that finds itself done. */
  async runRepeatable(name: string, values: StatementValues): Promise<readonly Row[]> {
    return this.single(name, values, 'read');
  }

  /**
   * One statement that is its own transaction: when it answers, it is durable. A lost answer is unknown (R6). `waits`: it
   * may wait for somebody else's transaction, so it needs the lock timeout, which a pooled session has only in one.
   */
  async runOnce(name: string, values: StatementValues, { waits = false } = {}): Promise<readonly Row[]> {
    if (this.pooled && waits) return this.transaction((session) => session.run(name, values));
    return this.single(name, values, 'write');
  }

  /** Commits when `work` resolves, else rolls back. */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.connect();
    const session = new ClientSession(client, this.pooled);
    try {
      await session.begin(this.begin);
      const result = await work(session);
      await session.commit();
      return result;
    } catch (error) {
      await session.rollBack();
      throw error;
    } finally {
      client.release(session.broken);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  private async single(name: string, values: StatementValues, doing: Doing): Promise<readonly Row[]> {
    // Encoded before a connection is taken: a value that cannot be sent costs none.
    const query = encode(name, values, this.pooled);
    const client = await this.connect();
    let broken = false;
    try {
      return (await client.query<unknown[]>(query)).rows;
    } catch (error) {
      broken = breaksConnection(error);
      throw toStoreError(error, doing);
    } finally {
      client.release(broken);
    }
  }

  private async connect(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (error) {
      throw toConnectError(error);
    }
  }
}

class ClientSession implements Session {
  /** The connection must not be used again. */
  broken = false;
  private open = false;

  constructor(
    private readonly client: PoolClient,
    private readonly pooled: boolean,
  ) {}

  async run(name: string, values: StatementValues): Promise<readonly Row[]> {
    const query = encode(name, values, this.pooled);
    try {
      return (await this.client.query<unknown[]>(query)).rows;
    } catch (error) {
      throw this.failed(error, 'transaction');
    }
  }

  async begin(text: string): Promise<void> {
    try {
      // Open as soon as it is sent: of several commands in one message the first may have been done, and another not.
      this.open = true;
      await this.client.query(text);
    } catch (error) {
      throw this.failed(error, 'transaction');
    }
  }

  async command(text: 'COMMIT' | 'ROLLBACK', doing: Doing): Promise<string> {
    try {
      const { command } = await this.client.query(text);
      this.open = false;
      return command;
    } catch (error) {
      throw this.failed(error, doing);
    }
  }

  async commit(): Promise<void> {
    // Of a transaction in which a statement failed the server makes a rollback, and calls that a success.
    if ((await this.command('COMMIT', 'write')) !== 'COMMIT') {
      throw new StoreError('transient', 'the transaction had failed before its COMMIT');
    }
  }

  /** Says nothing when it fails: the first error is the one that matters, and the connection goes. */
  async rollBack(): Promise<void> {
    if (!this.open || this.broken) return;
    await this.command('ROLLBACK', 'transaction').catch(() => {
      this.broken = true;
    });
  }

  private failed(error: unknown, doing: Doing): Error {
    this.broken ||= breaksConnection(error);
    return toStoreError(error, doing);
  }
}

function encode(name: string, values: StatementValues, pooled: boolean): QueryArrayConfig {
  try {
    const query = bind(statement(name), values);
    if (pooled) delete query.name;
    return query;
  } catch (error) {
    throw toStoreError(error, 'read');
  }
}
