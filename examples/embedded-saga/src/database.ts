import { join } from 'node:path';
import { batonFolder, startPostgres } from '@baton/local-stack';

export interface Database {
  readonly url: string;
  /** Ends what was started for it. */
  stop(): Promise<void>;
}

/** The database that was named, or a PostgreSQL of the service's own below .baton. */
export async function openDatabase(named: string | undefined, say: (line: string) => void): Promise<Database> {
  if (named !== undefined) return { url: named, stop: () => Promise.resolve() };
  const dataDir = join(process.env['BATON_HOME'] ?? batonFolder(), 'data', 'embedded-saga');
  const server = await startPostgres({ dataDir, database: 'orders', onProgress: say });
  return { url: server.url, stop: () => server.stop() };
}
