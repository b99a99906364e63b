import { withClient } from './client.js';
import { sharedServers } from './run-folder.js';

/** Databases of a run that no test dropped. */
export async function openDatabases(folder: string): Promise<readonly string[]> {
  const open: string[] = [];
  for (const { address } of sharedServers(folder)) {
    if (!address.startsWith('postgresql://')) continue;
    await withClient(address, async (client) => {
      const { rows } = await client.query<{ datname: string }>(
        `SELECT datname FROM pg_database WHERE datname LIKE 'test\\_%'`,
      );
      open.push(...rows.map((row) => row.datname));
    });
  }
  return open;
}
