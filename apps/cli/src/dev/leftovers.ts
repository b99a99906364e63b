import { endProcess, isRunning, runningKafka, runningPostgres, type ProcessIdentity } from '@baton/local-stack';
import type { Layout } from './layout.js';
import type { PlatformState } from './state.js';

export interface Leftover {
  readonly name: string;
  readonly identity: ProcessIdentity;
}

/** Servers that find their own data folder in use: known even when the supervisor was killed before it wrote them down. */
export interface DataFolderServers {
  readonly postgres: ProcessIdentity | undefined;
  readonly kafka: ProcessIdentity | undefined;
}

/** Processes of an earlier platform that outlived its supervisor. Nothing is ours without pid, start time and command. */
export function findLeftovers(
  state: PlatformState | undefined,
  servers: DataFolderServers,
  alive: (identity: ProcessIdentity) => boolean = isRunning,
): readonly Leftover[] {
  const recorded = (state?.processes ?? []).map(({ name, identity }) => ({ name, identity }));
  const known = new Set(recorded.map((process) => process.identity.pid));
  const unrecorded = [
    { name: 'postgres', identity: servers.postgres },
    { name: 'kafka', identity: servers.kafka },
  ].filter((server): server is Leftover => server.identity !== undefined && !known.has(server.identity.pid));
  return [...recorded, ...unrecorded].filter((process) => alive(process.identity));
}

export function dataFolderServers(layout: Layout): DataFolderServers {
  return { postgres: runningPostgres(layout.postgresData), kafka: runningKafka(layout.kafkaData) };
}

const SERVICE_GRACE_MS = 4_000;
const SERVER_GRACE_MS = 6_000;

/** Ends leftovers in the order of an orderly stop: first what uses the database and the broker, then these. */
export async function endLeftovers(leftovers: readonly Leftover[]): Promise<void> {
  const servers = leftovers.filter(({ name }) => name === 'postgres' || name === 'kafka');
  const services = leftovers.filter((leftover) => !servers.includes(leftover));
  await Promise.all(services.map(({ identity }) => endProcess(identity, { graceMs: SERVICE_GRACE_MS })));
  await Promise.all(
    servers.map(({ name, identity }) =>
      // SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
      endProcess(identity, { signal: name === 'postgres' ? 'SIGINT' : 'SIGTERM', graceMs: SERVER_GRACE_MS }),
    ),
  );
}
