import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LocalStackError } from '../errors.js';
import { moveAside } from '../files.js';
import { commandOf, identify, type ProcessIdentity } from '../processes/identity.js';
import type { PostgresMajor, Progress } from './binaries.js';
import { launchAs, makeParent, type ServerUser } from './server-user.js';

const run = promisify(execFile);

/** The superuser of every server that this library makes. */
export const SUPERUSER = 'baton';
const PASSWORD_FILE = 'baton-password';

export type FolderState = 'absent' | 'initialised' | 'half-initialised' | 'foreign';

/** What is in a data folder. Half-initialised: initdb was stopped in the middle, so it cannot hold data. */
export function inspectDataFolder(dataDir: string): FolderState {
  if (!existsSync(dataDir) || readdirSync(dataDir).length === 0) return 'absent';
  const complete = ['PG_VERSION', join('global', 'pg_control')].every((file) => existsSync(join(dataDir, file)));
  if (!complete) return 'half-initialised';
  return existsSync(join(dataDir, PASSWORD_FILE)) ? 'initialised' : 'foreign';
}

export interface FolderContext {
  readonly dataDir: string;
  readonly initdb: string;
  readonly major: PostgresMajor;
  readonly user: ServerUser | undefined;
  readonly durable: boolean;
  readonly onProgress: Progress;
}

/** Leaves a data folder that a server of this major can start on. */
export async function prepareDataFolder(context: FolderContext): Promise<void> {
  const { dataDir, major, onProgress } = context;
  const state = inspectDataFolder(dataDir);
  if (state === 'foreign') {
    throw new LocalStackError(
      'DATA_FOLDER_FOREIGN',
      `${dataDir} holds a PostgreSQL database that was not made here: choose another folder, or start that server yourself and set BATON_DATABASE_URL.`,
    );
  }
  if (state === 'initialised') return refuseOtherMajor(dataDir, major);
  if (state === 'half-initialised') {
    onProgress(
      `The data folder of PostgreSQL was half initialised: moved to ${moveAside(dataDir, 'half-initialised')}`,
    );
  }
  await initialise(context);
}

/** Initialises beside and renames at the end: a start that is killed here leaves no half folder in the way. */
async function initialise({ dataDir, initdb, user, durable, onProgress }: FolderContext): Promise<void> {
  onProgress('Initialising PostgreSQL');
  makeParent(dataDir);
  const folder = `${dataDir}.initialising-${process.pid}`;
  if (existsSync(folder)) moveAside(folder, 'half-initialised');
  mkdirSync(folder, { mode: 0o700 });
  const passwordFile = `${folder}.password`;
  writeFileSync(passwordFile, randomBytes(18).toString('base64url'), { mode: 0o600 });
  if (user !== undefined) for (const path of [folder, passwordFile]) chownSync(path, user.uid, user.gid);
  const launch = launchAs(
    user,
    initdb,
    ['-D', folder, '-U', SUPERUSER, `--pwfile=${passwordFile}`, ...INITDB_FLAGS, ...(durable ? [] : ['--no-sync'])],
    [folder],
  );
  const ids = launch.uid === undefined ? {} : { uid: launch.uid, gid: launch.gid ?? launch.uid };
  try {
    await run(launch.command, launch.args, { ...ids, cwd: '/' });
  } catch (cause) {
    throw new LocalStackError(
      'SERVER_FAILED',
      `PostgreSQL could not be initialised in ${dataDir}: ${lastLine(cause)}`,
      { cause },
    );
  }
  chmodSync(passwordFile, 0o600);
  renameSync(passwordFile, join(folder, PASSWORD_FILE));
  if (existsSync(dataDir)) rmdirSync(dataDir);
  renameSync(folder, dataDir);
}

/** No locale: text sorts by bytes, the same on every machine. Passwords even on loopback: others may share it. */
const INITDB_FLAGS = ['--auth=scram-sha-256', '--no-locale', '--encoding=UTF8', '--no-instructions'];

function refuseOtherMajor(dataDir: string, major: PostgresMajor): void {
  const found = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim();
  if (found === String(major)) return;
  throw new LocalStackError(
    'DATA_FOLDER_FOREIGN',
    `${dataDir} was made by PostgreSQL ${found} and this is PostgreSQL ${major}: move the folder away, or set BATON_DATABASE_URL.`,
  );
}

export function readPassword(dataDir: string): string {
  return readFileSync(join(dataDir, PASSWORD_FILE), 'utf8').trim();
}

interface PidFile {
  readonly pid: number;
  readonly ready: boolean;
}

/** The server's own pid file: line 1 is its pid, line 8 its state. */
export function readPidFile(dataDir: string): PidFile | undefined {
  try {
    const lines = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : undefined;
  } catch {
    return undefined;
  }
}

/** The server that runs on this folder now, whoever started it. */
export function runningPostgres(dataDir: string): ProcessIdentity | undefined {
  const file = readPidFile(dataDir);
  if (file === undefined || !(commandOf(file.pid) ?? '').includes(dataDir)) return undefined;
  return identify(file.pid, dataDir);
}

/**
 * PostgreSQL clears a stale pid file itself, with two exceptions: one that is empty or not readable, and one whose
 * pid now belongs to some other process of the same user, which it then believes to be a server.
 */
export function clearStalePidFile(dataDir: string, onProgress: Progress): void {
  const path = join(dataDir, 'postmaster.pid');
  if (!existsSync(path) || runningPostgres(dataDir) !== undefined) return;
  const pid = readPidFile(dataDir)?.pid;
  if (pid !== undefined && commandOf(pid) === undefined) return;
  const what = pid === undefined ? 'was not readable' : `named a foreign process (pid ${pid})`;
  onProgress(`A stale pid file of PostgreSQL ${what}: moved to ${moveAside(path, 'stale')}`);
}

function lastLine(error: unknown): string {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  return text.trim().split('\n').at(-1) ?? 'no message';
}
