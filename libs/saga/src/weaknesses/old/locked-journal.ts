import type { ClientBase } from 'pg';

const TABLE_LOCK = 4_711;

/** The old journal of W16 on PostgreSQL: numbers over all runs, kept in order by one lock over the table. */
export class OldJournal {
  /** `isLocked` false: the same without the lock, as one would first mend it. */
  constructor(private readonly isLocked: boolean) {}

  static async create(client: ClientBase): Promise<void> {
    await client.query('CREATE TABLE old_events (seq bigint GENERATED ALWAYS AS IDENTITY, run text NOT NULL)');
  }

  /** Within a transaction of the client. */
  async append(client: ClientBase, run: string): Promise<void> {
    if (this.isLocked) await client.query('SELECT pg_advisory_xact_lock($1)', [TABLE_LOCK]);
    await client.query('INSERT INTO old_events (run) VALUES ($1)', [run]);
  }

  async loadSince(
    client: ClientBase,
    after: number,
  ): Promise<readonly { readonly seq: number; readonly run: string }[]> {
    const sql = 'SELECT seq::int AS seq, run FROM old_events WHERE seq > $1 ORDER BY seq';
    return (await client.query<{ seq: number; run: string }>(sql, [after])).rows;
  }
}
