import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@baton/testkit';
import { Client } from 'pg';
import type { Pooler } from './pooled-suite.js';

/** The program that BATON_PGBOUNCER names. */
export function pgbouncer(): string {
  return process.env['BATON_PGBOUNCER'] ?? 'pgbouncer';
}

export async function startPgBouncer(databaseUrl: string): Promise<Pooler> {
  const database = new URL(databaseUrl);
  const name = database.pathname.slice(1);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'baton-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, settings(database, name, port));
  for (const path of [folder, file]) chmodSync(path, path === folder ? 0o755 : 0o644);
  // It refuses to be root, and becomes somebody else itself.
  const args = process.getuid?.() === 0 ? ['-u', 'nobody', file] : [file];
  const child = spawn(pgbouncer(), args, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  await eventually(
    async () => {
      const client = new Client({ connectionString: url.toString() });
      await client.connect();
      await client.end();
      return true;
    },
    { what: 'PgBouncer to accept clients' },
  );
  return {
    url: url.toString(),
    async close() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function settings(database: URL, name: string, port: number): string {
  const behind = `host=${database.hostname} port=${database.port} dbname=${name}`;
  return `[databases]
${name} = ${behind} user=${database.username} password=${decodeURIComponent(database.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
server_round_robin = 1
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
