import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess, identify, isRunning, readIdentity, runningKafka, runningPostgres } from '@baton/local-stack';
import { openDatabases } from '../open-databases.js';
import { RUN_FOLDER_VARIABLE } from '../run-folder.js';

const PREFIX = 'baton-test-';
const OWNER_FILE = 'owner.json';

/** Jest's global setup: a folder for this run. Servers start when a test first asks for one. */
export async function beginTestRun(): Promise<void> {
  await sweepAbandonedRuns();
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // The database server may run as another user.
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, OWNER_FILE), JSON.stringify(identify(process.pid, '')));
  process.env[RUN_FOLDER_VARIABLE] = folder;
}

/** Jest's global teardown: fails the run when a test left a database behind, and ends every server. */
export async function endTestRun(): Promise<void> {
  const folder = process.env[RUN_FOLDER_VARIABLE];
  if (folder === undefined) return;
  const leftOver = await openDatabases(folder);
  await removeRun(folder);
  if (leftOver.length > 0) {
    throw new Error(`Databases were not dropped (call drop() in afterAll): ${leftOver.join('; ')}`);
  }
}

/** Runs whose Jest was killed: their servers would stay for ever. */
async function sweepAbandonedRuns(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name);
    const owner = readIdentity(join(folder, OWNER_FILE));
    if (owner !== undefined && !isRunning(owner)) await removeRun(folder);
  }
}

/** Ends every server whose data is in this folder, also one that was still starting when its run ended. */
async function removeRun(folder: string): Promise<void> {
  const servers = readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((dataDir) => [runningPostgres(dataDir), runningKafka(dataDir)])
    .filter((server) => server !== undefined);
  await Promise.all(servers.map((server) => endProcess(server, { signal: 'SIGTERM', graceMs: 2000 })));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
