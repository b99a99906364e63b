import type { CompensateContext, StepContext } from '@baton/saga';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';

type Context = Pick<StepContext | CompensateContext, 'runId' | 'step' | 'attempt' | 'idempotencyKey'>;
type Event = 'started' | 'finished' | 'failed';

const PAUSE_MS = 100;
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Writes each call of a step into a database that is not the saga's, so that a test can compare what was really done with
 * what the journal says. On only when BATON_LEDGER_URL is set.
 */
export class Ledger {
  private readonly pool: Pool | undefined;

  constructor(url: string | undefined) {
    this.pool = url === undefined ? undefined : new Pool({ connectionString: url, max: 10 });
    this.pool?.on('error', () => undefined);
  }

  async prepare(): Promise<void> {
    // One transaction: several processes may start at once, and two CREATEs side by side can collide in the catalog.
    await this.pool?.query(`SELECT pg_advisory_xact_lock(727166); ${CREATE_LEDGER}`);
  }

  /** A row before the work and one after it. */
  async record<T>(context: Context, work: () => Promise<T>): Promise<T> {
    const call = randomUUID();
    await this.write(context, call, 'started');
    try {
      const output = await work();
      await this.write(context, call, 'finished');
      return output;
    } catch (error) {
      await this.write(context, call, 'failed');
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.pool?.end();
  }

  /** Until it is there: an answer that was lost must not leave a second row. */
  private async write(context: Context, call: string, event: Event): Promise<void> {
    if (this.pool === undefined) return;
    const until = performance.now() + GIVE_UP_AFTER_MS;
    const { runId, step, attempt, idempotencyKey } = context;
    // R15: run/node/item/kind/generation.
    const kind = idempotencyKey.split('/').at(-2);
    for (;;) {
      try {
        await this.pool.query(INSERT, [call, event, runId, step, kind, attempt, idempotencyKey, process.pid]);
        return;
      } catch (error) {
        if (performance.now() >= until) throw error;
        await delay(PAUSE_MS);
      }
    }
  }
}

const INSERT = `
  INSERT INTO ledger (call, event, run_id, node, kind, attempt, idempotency_key, pid)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (call, event) DO NOTHING`;

const CREATE_LEDGER = `
  CREATE TABLE IF NOT EXISTS ledger (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    call uuid NOT NULL,
    event text NOT NULL CHECK (event IN ('started', 'finished', 'failed')),
    run_id uuid NOT NULL,
    node text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('forward', 'compensate')),
    attempt integer NOT NULL,
    idempotency_key text NOT NULL,
    pid integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (call, event)
  )`;
