import type { TaskContext, TaskHandler } from '@baton/worker';
import { Pool } from 'pg';

/**
 * Writes every call of a handler into a database that is not Baton's, so that tests can compare what workers really
 * did with what Baton says. On only when BATON_LEDGER_URL is set.
 */
export class Ledger {
  private readonly pool: Pool;

  constructor(url: string) {
    this.pool = new Pool({ connectionString: url, max: 10, application_name: 'order-fulfilment ledger' });
    // A broken idle connection shows in the next insert.
    this.pool.on('error', () => undefined);
  }

  async prepare(): Promise<void> {
    // Several fleets may start at once; two CREATEs side by side can collide in the catalog.
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock(727166)');
      await client.query(CREATE_LEDGER);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
  }

  /** The handler with a row before its work and one after it. */
  record(handler: TaskHandler): TaskHandler {
    return async (context) => {
      await this.write(context, 'started');
      try {
        const output: unknown = await handler(context);
        await this.write(context, 'finished');
        return output;
      } catch (error) {
        await this.write(context, 'failed');
        throw error;
      }
    };
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  private async write(context: TaskContext, event: 'started' | 'finished' | 'failed'): Promise<void> {
    await this.pool.query(
      `INSERT INTO ledger (run_id, node, kind, attempt, idempotency_key, event, pid) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [context.runId, context.nodeId, context.kind, context.attempt, context.idempotencyKey, event, process.pid],
    );
  }
}

const CREATE_LEDGER = `
  CREATE TABLE IF NOT EXISTS ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id uuid NOT NULL,
    node text NOT NULL,
    kind text NOT NULL,
    attempt integer NOT NULL,
    idempotency_key text NOT NULL,
    event text NOT NULL CHECK (event IN ('started', 'finished', 'failed')),
    pid integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`;
