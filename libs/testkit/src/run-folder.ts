import { existsSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isRunning, pollUntil, readIdentity, readJson, type ProcessIdentity } from '@baton/local-stack';

/** Names the folder that a Jest run and its workers share. */
export const RUN_FOLDER_VARIABLE = 'BATON_TEST_FOLDER';

/** A server that one worker started for all of them. */
export interface SharedServer {
  readonly address: string;
  readonly process: ProcessIdentity;
}

export function runFolder(): string {
  const folder = process.env[RUN_FOLDER_VARIABLE];
  if (folder !== undefined && existsSync(folder)) return folder;
  throw new Error(
    'Integration tests need their global setup: run them with "jest --config jest.int.config.cjs <path>".',
  );
}

const START_TIMEOUT_MS = 180_000;

/**
 * The server of this name: started by whichever worker asks first, used by all, stopped by the global teardown.
 * The lock names its holder, so that a worker that died while starting does not block the others.
 */
export async function sharedServer(
  name: string,
  start: (folder: string) => Promise<SharedServer>,
): Promise<SharedServer> {
  const folder = runFolder();
  const record = join(folder, `${name}.server.json`);
  const server = await pollUntil(
    async () => {
      const known = readJson<SharedServer>(record);
      if (known !== undefined) return known;
      if (!takeLock(join(folder, `${name}.lock`))) return undefined;
      const started = await start(join(folder, name));
      mkdirSync(folder, { recursive: true });
      writeFileSync(record, JSON.stringify(started));
      return started;
    },
    { timeoutMs: START_TIMEOUT_MS, intervalMs: 50 },
  );
  if (server === undefined) throw new Error(`${name} did not start within ${START_TIMEOUT_MS / 1000} s.`);
  return server;
}

/** Every server that was started in a run's folder. */
export function sharedServers(folder: string): readonly SharedServer[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.server.json'))
    .map((file) => readJson<SharedServer>(join(folder, file)))
    .filter((server) => server !== undefined);
}

function takeLock(file: string): boolean {
  try {
    writeFileSync(file, JSON.stringify(identify(process.pid, '')), { flag: 'wx' });
    return true;
  } catch {
    const holder = readIdentity(file);
    // Unreadable means that it is being written at this moment.
    if (holder !== undefined && !isRunning(holder)) unlinkSync(file);
    return false;
  }
}
