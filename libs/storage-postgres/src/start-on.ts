import type { RunStartWrite, StartResult } from '@baton/engine';
import { toStoreError } from './errors.js';
import type { Row, Session } from './pool.js';
import { KeyVanishedError } from './start-keys.js';
import { bind, statement, type StatementValues } from './statements.js';
import { insertUncontested, claimAndInsert, MAX_KEY_ROUNDS } from './starts.js';

/**
 * What a caller's own transaction runs on: a client of `pg`, an EntityManager or a QueryRunner of TypeORM. Any other
 * will do that sends `$1`-style parameters with `pg` (Buffers in binary) and answers the rows, or an object with `rows`.
 */
export interface SqlExecutor {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

/**
 * A start as part of the caller's transaction: the run is there when that commits, and never was when it rolls back.
 * Nothing is committed here, and no connection is taken. A start that is refused leaves the transaction as it was. After
 * an error the caller must roll back, as after any error of PostgreSQL.
 *
 * With a key it waits for another transaction that is starting a run with the same key, as long as the caller's
 * `lock_timeout` lets it.
 */
export async function writeStartOn(executor: SqlExecutor, batchId: string, start: RunStartWrite): Promise<StartResult> {
  const session = new ExecutorSession(executor);
  const { runId } = start.write;
  if (await insertUncontested(session, batchId, start)) return { created: new Set([runId]), existing: new Map() };
  const { winners, existing } = await contested(session, batchId, start);
  return { created: new Set(winners.map(({ write }) => write.runId)), existing };
}

/** The part that may have to be done again lies between savepoints, which also refuse a caller without a transaction. */
async function contested(session: ExecutorSession, batchId: string, start: RunStartWrite) {
  await session.command('SAVEPOINT baton_start');
  for (let tries = 1; ; tries += 1) {
    try {
      const claimed = await claimAndInsert(session, batchId, [start]);
      await session.command('RELEASE SAVEPOINT baton_start');
      return claimed;
    } catch (error) {
      if (!(error instanceof KeyVanishedError) || tries >= MAX_KEY_ROUNDS) throw error;
      await session.command('ROLLBACK TO SAVEPOINT baton_start');
    }
  }
}

export class ExecutorSession implements Session {
  constructor(private readonly executor: SqlExecutor) {}

  async run(name: string, values: StatementValues): Promise<readonly Row[]> {
    try {
      const { text, values: parameters } = bind(statement(name), values);
      return rowsOf(await this.executor.query(text, parameters));
    } catch (error) {
      throw toStoreError(error, 'transaction');
    }
  }

  async command(text: string): Promise<void> {
    try {
      await this.executor.query(text);
    } catch (error) {
      throw toStoreError(error, 'transaction');
    }
  }
}

/** Rows as arrays. Columns of these statements have names of their own, so objects keep their order. */
function rowsOf(answer: unknown): readonly Row[] {
  if (Array.isArray(answer)) {
    // TypeORM answers [rows, count] to an UPDATE.
    const first: unknown = answer[0];
    return Array.isArray(first) && typeof answer[1] === 'number' ? first.map(rowOf) : answer.map(rowOf);
  }
  if (typeof answer === 'object' && answer !== null && 'rows' in answer && Array.isArray(answer.rows)) {
    return answer.rows.map(rowOf);
  }
  throw new TypeError('the executor of this transaction answered neither rows nor an object with rows');
}

function rowOf(row: unknown): Row {
  if (Array.isArray(row)) return row;
  if (typeof row === 'object' && row !== null) return Object.values(row);
  throw new TypeError(`the executor of this transaction answered a row that is a ${typeof row}`);
}
