/** The least of a client, a pool or a TypeORM runner that these functions need. */
export interface SqlRunner {
  query(text: string): Promise<unknown>;
}

/**
 * R25: partitions are made ahead, at start and daily. Any process may call it at any time, several at once too.
 * Fails after a few seconds if a long query holds a table: nothing is lost by trying again later, since rows
 * without a partition of their own go to the DEFAULT one.
 */
export async function ensurePartitions(runner: SqlRunner): Promise<void> {
  await runner.query('SELECT baton.ensure_partitions()');
}
