import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { runningPostgres, startPostgres, type RunningPostgres } from '../index.js';

const FAST = { fsync: 'off' };

async function query<T>(server: RunningPostgres, sql: string): Promise<readonly T[]> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as T[];
  } finally {
    await client.end();
  }
}

describe('a local PostgreSQL', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-postgres-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('keeps its data through a stop, a SIGKILL and a new start', async () => {
    const dataDir = join(folder, 'data');
    const first = await startPostgres({ dataDir, database: 'baton' });
    await query(first, 'CREATE TABLE kept AS SELECT 1 AS value');
    await first.kill();
    await first.restart();
    expect(await query(first, 'SELECT value FROM kept')).toEqual([{ value: 1 }]);
    await first.stop();
    const second = await startPostgres({ dataDir, database: 'baton' });
    expect(await query(second, 'SELECT value FROM kept')).toEqual([{ value: 1 }]);
    await second.stop();
    expect(runningPostgres(dataDir)).toBeUndefined();
  });

  it('moves a half-initialised data folder aside, without deleting it', async () => {
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'PG_VERSION'), '18\n');
    const progress: string[] = [];
    const server = await startPostgres({ dataDir, settings: FAST, onProgress: (line) => progress.push(line) });
    await server.stop();
    const aside = readdirSync(folder).find((name) => name.startsWith('data.half-initialised-'));
    expect(aside).toBeDefined();
    expect(existsSync(join(folder, aside ?? '', 'PG_VERSION'))).toBe(true);
    expect(progress.join('\n')).toMatch(/half initialised: moved to/);
  });

  it.each([
    ['names a foreign process', `${process.pid}\n`],
    ['is empty', ''],
    ['holds nonsense', 'nonsense\n'],
  ])('starts over a stale pid file that %s', async (_case, content) => {
    const dataDir = join(folder, 'data');
    const server = await startPostgres({ dataDir, settings: FAST });
    await server.stop();
    writeFileSync(join(dataDir, 'postmaster.pid'), content, { mode: 0o644 });
    await server.restart();
    expect(await query(server, 'SELECT 1 AS value')).toEqual([{ value: 1 }]);
    await server.stop();
  });

  it('says in one sentence that its folder or its port is in use', async () => {
    const dataDir = join(folder, 'data');
    const server = await startPostgres({ dataDir, settings: FAST });
    await expect(startPostgres({ dataDir })).rejects.toMatchObject({ code: 'ALREADY_RUNNING' });
    await server.stop();
    const foreign = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => foreign.once('listening', resolve));
    const { port } = foreign.address() as AddressInfo;
    await expect(startPostgres({ dataDir, port })).rejects.toThrow(`Port ${port}, wanted for PostgreSQL, is taken by`);
    await new Promise((resolve) => foreign.close(resolve));
  });

  it('runs an older major too', async () => {
    const server = await startPostgres({ dataDir: join(folder, 'old'), major: 15, settings: FAST });
    const [row] = await query<{ server_version: string }>(server, 'SHOW server_version');
    expect(row?.server_version).toMatch(/^15\./);
    await server.stop();
  });
});
