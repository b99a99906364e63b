import { Pool } from 'pg';
import type { Order } from './order.js';

/** Outcome of a step as the outside world keeps it. */
export interface Effect {
  readonly what: string;
  readonly undone: boolean;
}

/**
 * The service's own tables. `effects` stands for the systems that the steps call, a payment provider or a carrier: asked
 * again for what it has done, it changes nothing.
 */
export class Shop {
  readonly pool: Pool;

  constructor(databaseUrl: string) {
    this.pool = new Pool({ connectionString: databaseUrl, max: 10, application_name: 'embedded-saga shop' });
    // A connection that breaks shows in the query that uses it, or in the next one; unheard it would end the process.
    this.pool.on('error', () => undefined);
    this.pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async prepare(): Promise<void> {
    // Several processes may start at once: one after the other.
    await this.transaction(async (query) => {
      await query('SELECT pg_advisory_xact_lock(727167)');
      await query(TABLES);
    });
  }

  /** All of it or nothing: what `work` writes, and a saga that it starts. */
  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work((text, values) => client.query(text, values));
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      client.release(error instanceof Error ? error : true);
      throw error;
    }
  }

  /** Does something once, and never after its undo. */
  async effect(orderId: string, what: string, key: string): Promise<void> {
    await this.pool.query(
      'INSERT INTO shop.effects (order_id, what, key) VALUES ($1, $2, $3) ON CONFLICT (order_id, what) DO NOTHING',
      [orderId, what, key],
    );
  }

  /** Undoes it; also when it was never done (then it never will be), or is undone already. */
  async undo(orderId: string, what: string, key: string): Promise<void> {
    await this.pool.query(
      `INSERT INTO shop.effects (order_id, what, key, undone) VALUES ($1, $2, $3, true)
       ON CONFLICT (order_id, what) DO UPDATE SET undone = true`,
      [orderId, what, key],
    );
  }

  async effectsOf(orderId: string): Promise<readonly Effect[]> {
    const sql = 'SELECT what, undone FROM shop.effects WHERE order_id = $1 ORDER BY at, what';
    return (await this.pool.query<Effect>(sql, [orderId])).rows;
  }

  /** Keeps an order within a transaction; false = there is one of this number. */
  async place(query: Query, order: Order, runId: string): Promise<boolean> {
    const sql =
      'INSERT INTO shop.orders (order_id, run_id, customer, body) VALUES ($1, $2, $3, $4) ON CONFLICT (order_id) DO NOTHING';
    return (await query(sql, [order.orderId, runId, order.customer, JSON.stringify(order)])).rowCount === 1;
  }

  async runOf(orderId: string): Promise<string | undefined> {
    const sql = 'SELECT run_id FROM shop.orders WHERE order_id = $1';
    return (await this.pool.query<{ run_id: string }>(sql, [orderId])).rows[0]?.run_id;
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}

export type Query = (
  text: string,
  values?: unknown[],
) => Promise<{ readonly rows: Record<string, unknown>[]; readonly rowCount: number | null }>;

const TABLES = `
  CREATE SCHEMA IF NOT EXISTS shop;
  CREATE TABLE IF NOT EXISTS shop.orders (
    order_id text PRIMARY KEY,
    run_id uuid NOT NULL UNIQUE,
    customer text NOT NULL,
    body jsonb NOT NULL,
    placed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE IF NOT EXISTS shop.effects (
    order_id text NOT NULL,
    what text NOT NULL,
    key text NOT NULL,
    undone boolean NOT NULL DEFAULT false,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (order_id, what)
  )`;
