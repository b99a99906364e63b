import { createServer, type AddressInfo } from 'node:net';
import { PooledClient } from './pooled-client.js';
import { ServerPool } from './server-pool.js';

export interface TransactionPoolerOptions {
  /** The database behind it, with the role of every session. */
  readonly url: string;
  /** Sessions of the server. Default 3; with 2 or more a client never has the same one twice in a row. */
  readonly sessions?: number;
}

export interface TransactionPooler {
  /** The database through the pooler. */
  readonly url: string;
  /** How many times a session was lent. */
  readonly transactions: number;
  close(): Promise<void>;
}

/**
 * A pooler in transaction mode, as PgBouncer with `pool_mode = transaction`: a client has a session of the server for one
 * transaction at a time. Sessions go round on purpose, and nothing is reset between clients, so whatever is left in a
 * session, such as a setting or a prepared statement, is lost to its client and found by another.
 */
export async function startTransactionPooler({
  url,
  sessions = 3,
}: TransactionPoolerOptions): Promise<TransactionPooler> {
  const pool = new ServerPool(url);
  await pool.open(sessions);
  const clients = new Set<PooledClient>();
  let transactions = 0;
  const server = createServer((socket) => {
    const client = new PooledClient(socket, pool, () => (transactions += 1));
    clients.add(client);
    socket.on('close', () => clients.delete(client));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: through.toString(),
    get transactions() {
      return transactions;
    },
    async close() {
      for (const client of clients) client.end();
      await new Promise((resolve) => server.close(resolve));
      pool.close();
    },
  };
}
