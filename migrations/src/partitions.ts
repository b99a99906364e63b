/** The least of a client, a pool or a TypeORM runner that these functions need. */
export interface SqlRunner {
  query(text: string): Promise<unknown>;
}

/** Inside a transaction of the caller. */
export async function createPartitionsOf(runner: SqlRunner): Promise<void> {
  await runner.query('SELECT baton.ensure_partitions()');
}
