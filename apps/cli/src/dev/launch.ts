import { existsSync, renameSync, statSync } from 'node:fs';
import {
  LocalStackError,
  pollUntil,
  spawnServer,
  startKafka,
  startPostgres,
  type ExitInfo,
  type ProcessIdentity,
} from '@baton/local-stack';
import { logFileOf, type Layout } from './layout.js';
import type { ServiceSpec } from './services.js';
import type { Launched } from './supervised.js';

/** Each mode has a database of its own: events of one are nothing for the relay of the other. */
const DATABASES = { platform: 'baton', library: 'baton_library' } as const;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;

/** PostgreSQL and Kafka can be started again by their own handle; a service is spawned anew. */
interface Server {
  readonly identity: ProcessIdentity;
  readonly exited: Promise<ExitInfo>;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

export interface ServerLaunch {
  readonly layout: Layout;
  readonly port: number;
  readonly onProgress: (line: string) => void;
  readonly mode: keyof typeof DATABASES;
}

export function postgresLauncher({ layout, port, onProgress, mode }: ServerLaunch): ServerLauncher {
  const logFile = logFileOf(layout, 'postgres');
  const database = DATABASES[mode];
  return new ServerLauncher(async () => {
    const server = await startPostgres({ dataDir: layout.postgresData, port, database, logFile, onProgress });
    return { server, address: server.url };
  }, logFile);
}

export function kafkaLauncher({ layout, port, onProgress }: Omit<ServerLaunch, 'mode'>): ServerLauncher {
  const logFile = logFileOf(layout, 'kafka');
  return new ServerLauncher(async () => {
    const server = await startKafka({ dataDir: layout.kafkaData, port, logFile, onProgress });
    return { server, address: server.brokers };
  }, logFile);
}

/** Starts a server the first time and restarts it after that; knows its address from then on. */
export class ServerLauncher {
  address = '';
  private server: Server | undefined;

  constructor(
    private readonly first: () => Promise<{ server: Server; address: string }>,
    readonly logFile: string,
  ) {}

  readonly launch = async (): Promise<Launched> => {
    const server = await this.started();
    return { identity: server.identity, exited: server.exited, stop: () => server.stop() };
  };

  private async started(): Promise<Server> {
    if (this.server !== undefined) {
      await this.server.restart();
      return this.server;
    }
    rotateLog(this.logFile);
    const { server, address } = await this.first();
    this.address = address;
    this.server = server;
    return server;
  }
}

export async function launchService(spec: ServiceSpec, cwd: string): Promise<Launched> {
  if (!existsSync(spec.script)) {
    throw new LocalStackError(
      'BINARIES_MISSING',
      `${spec.name} is not built (${spec.script} is missing): run ./baton, which builds.`,
    );
  }
  rotateLog(spec.logFile);
  const { script, logFile, env } = spec;
  const server = await spawnServer({ command: process.execPath, args: [script], marker: script, logFile, env, cwd });
  return {
    identity: server.identity,
    exited: server.exited,
    stop: async (graceMs) => {
      server.send('SIGTERM');
      if ((await pollUntil(() => server.exitInfo(), { timeoutMs: graceMs })) === undefined) server.send('SIGKILL');
      await server.exited;
    },
  };
}

/** Logs grow over many starts: one old part is kept. */
function rotateLog(file: string): void {
  if (existsSync(file) && statSync(file).size > LOG_LIMIT_BYTES) renameSync(file, `${file}.old`);
}
