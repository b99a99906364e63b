import { setTimeout as delay } from 'node:timers/promises';
import { pollUntil } from '../conditions.js';
import { LocalStackError } from '../errors.js';
import { describePortOwner, freePort, isPortFree } from '../processes/ports.js';
import { spawnServer, type ExitInfo, type ServerProcess } from '../processes/spawn-server.js';
import type { ProcessIdentity } from '../processes/identity.js';
import { CURRENT_MAJOR, postgresBinaries, type PostgresMajor, type Progress } from './binaries.js';
import {
  clearStalePidFile,
  prepareDataFolder,
  readPassword,
  readPidFile,
  runningPostgres,
  SUPERUSER,
} from './data-folder.js';
import { launchAs, serverUser } from './server-user.js';

export interface PostgresOptions {
  readonly dataDir: string;
  /** A free one when not given. */
  readonly port?: number;
  /** Server settings over the defaults, for instance `{ fsync: 'off' }` in tests. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly major?: PostgresMajor;
  /** Made when it is missing; the url names it. Default: the maintenance database `postgres`. */
  readonly database?: string;
  readonly logFile?: string;
  readonly onProgress?: Progress;
}

export interface RunningPostgres {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly identity: ProcessIdentity;
  /** Settles when the present process ends, wanted or not. */
  readonly exited: Promise<ExitInfo>;
  /** Fast shutdown: sessions are ended, data is flushed. */
  stop(): Promise<void>;
  /** Immediate shutdown (SIGQUIT): every session ends at once, nothing is flushed, the next start recovers. */
  stopImmediately(): Promise<void>;
  /** SIGKILL, as a crash would be. */
  kill(): Promise<void>;
  /** Starts again after stop, kill or a crash: same port, same data. */
  restart(): Promise<void>;
  /** Lets this process end while the server goes on; whoever ends it needs its identity. */
  detach(): void;
}

const DEFAULT_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  wal_level: 'logical',
  max_replication_slots: '20',
  max_wal_senders: '20',
  max_connections: '200',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 8_000;
const CRASH_GRACE_MS = 10_000;

export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { dataDir, major = CURRENT_MAJOR, settings = {} } = options;
  const onProgress = options.onProgress ?? (() => undefined);
  const { initdb, postgres } = await postgresBinaries(major, onProgress);
  const user = serverUser(dataDir);
  await prepareDataFolder({ dataDir, initdb, major, user, durable: settings['fsync'] !== 'off', onProgress });
  const launch = async (port: number): Promise<ServerProcess> => {
    await refuseSecondServer(dataDir, port);
    clearStalePidFile(dataDir, onProgress);
    const flags = Object.entries({ ...DEFAULT_SETTINGS, ...settings }).flatMap(([key, value]) => [
      '-c',
      `${key}=${value}`,
    ]);
    const started = launchAs(user, postgres, ['-D', dataDir, '-p', String(port), ...flags], [dataDir]);
    const logFile = options.logFile ?? `${dataDir}.log`;
    return afterCrash(async () =>
      whenReady(await spawnServer({ ...started, logFile, marker: dataDir, cwd: '/' }), dataDir),
    );
  };
  const { port, server } = await onPort(options.port, launch);
  const url = await ensureDatabase({ dataDir, port, database: options.database ?? 'postgres' });
  return new PostgresProcess(url, port, server, launch);
}

class PostgresProcess implements RunningPostgres {
  constructor(
    readonly url: string,
    readonly port: number,
    private server: ServerProcess,
    private readonly launch: (port: number) => Promise<ServerProcess>,
  ) {}

  get pid(): number {
    return this.server.pid;
  }

  get identity(): ProcessIdentity {
    return this.server.identity;
  }

  get exited(): Promise<ExitInfo> {
    return this.server.exited;
  }

  detach(): void {
    this.server.detach();
  }

  async stop(): Promise<void> {
    this.server.send('SIGINT');
    const stopped = await pollUntil(() => this.server.exitInfo(), { timeoutMs: STOP_GRACE_MS });
    if (stopped !== undefined) return;
    await this.stopImmediately();
  }

  async stopImmediately(): Promise<void> {
    this.server.send('SIGQUIT');
    await this.server.exited;
  }

  async kill(): Promise<void> {
    this.server.send('SIGKILL');
    await this.server.exited;
  }

  async restart(): Promise<void> {
    if (this.server.exitInfo() === undefined) await this.stop();
    this.server = await this.launch(this.port);
  }
}

/** Between looking for a free port and listening somebody may take it: only a port that was asked for is an error. */
async function onPort(
  wanted: number | undefined,
  launch: (port: number) => Promise<ServerProcess>,
): Promise<{ port: number; server: ServerProcess }> {
  if (wanted !== undefined) return { port: wanted, server: await launch(wanted) };
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return { port, server: await launch(port) };
    } catch (error) {
      if (attempt === 3 || (await isPortFree(port))) throw error;
    }
  }
}

async function refuseSecondServer(dataDir: string, port: number): Promise<void> {
  const running = runningPostgres(dataDir);
  if (running !== undefined) {
    throw new LocalStackError(
      'ALREADY_RUNNING',
      `A PostgreSQL server already runs on ${dataDir} (pid ${running.pid}).`,
    );
  }
  if (await isPortFree(port)) return;
  throw new LocalStackError(
    'PORT_TAKEN',
    `Port ${port}, wanted for PostgreSQL, is taken by ${describePortOwner(port)}.`,
  );
}

/** After a SIGKILL the old server's children need a moment to notice: until then the folder counts as in use. */
async function afterCrash(launch: () => Promise<ServerProcess>): Promise<ServerProcess> {
  const deadline = performance.now() + CRASH_GRACE_MS;
  for (;;) {
    try {
      return await launch();
    } catch (error) {
      const inUse = error instanceof LocalStackError && /shared memory block|is in use/.test(error.message);
      if (!inUse || performance.now() >= deadline) throw error;
      await delay(200);
    }
  }
}

async function whenReady(server: ServerProcess, dataDir: string): Promise<ServerProcess> {
  const outcome = await pollUntil(
    () => {
      if (server.exitInfo() !== undefined) return 'exited';
      const file = readPidFile(dataDir);
      return file?.pid === server.pid && file.ready ? 'ready' : undefined;
    },
    { timeoutMs: READY_TIMEOUT_MS },
  );
  if (outcome === 'ready') return server;
  server.send('SIGQUIT');
  const reason = /(?:FATAL|PANIC|ERROR):\s*(.*)/.exec(server.output())?.[1] ?? 'see its log';
  throw new LocalStackError('SERVER_FAILED', `PostgreSQL did not start: ${reason}.`);
}

interface Target {
  readonly dataDir: string;
  readonly port: number;
  readonly database: string;
}

async function ensureDatabase({ dataDir, port, database }: Target): Promise<string> {
  const base = `postgresql://${SUPERUSER}:${readPassword(dataDir)}@127.0.0.1:${port}`;
  if (database === 'postgres') return `${base}/postgres`;
  // Loaded here: most users of this library never start a server.
  const { Client } = await import('pg');
  const client = new Client({ connectionString: `${base}/postgres` });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
  return `${base}/${encodeURIComponent(database)}`;
}
