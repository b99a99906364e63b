import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { LocalStackError } from '../errors.js';

/** PostgreSQL refuses to run as root: under root the server runs as an unprivileged user. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

const PREFERRED_USER = 'postgres';
const LAST_RESORT = 'nobody';

/** The user for a data folder; undefined when we are not root and the server simply runs as us. */
export function serverUser(dataDir: string): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return ownerOf(dataDir) ?? lookUp(PREFERRED_USER) ?? createUser() ?? lastResort();
}

/** A folder made by an earlier start keeps its owner, whoever runs us now. */
function ownerOf(dataDir: string): ServerUser | undefined {
  if (!existsSync(dataDir)) return undefined;
  const { uid } = statSync(dataDir);
  return uid === 0 ? undefined : passwdUsers().find((user) => user.uid === uid);
}

function createUser(): ServerUser | undefined {
  try {
    execFileSync('useradd', ['--system', '--user-group', '--no-create-home', PREFERRED_USER], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  return lookUp(PREFERRED_USER);
}

function lastResort(): ServerUser {
  const user = lookUp(LAST_RESORT);
  if (user !== undefined) return user;
  throw new LocalStackError(
    'SERVER_USER',
    'PostgreSQL cannot run as root and no unprivileged user could be made: run this as a normal user, or set BATON_DATABASE_URL.',
  );
}

function lookUp(name: string): ServerUser | undefined {
  return passwdUsers().find((user) => user.name === name);
}

function passwdUsers(): readonly ServerUser[] {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * How to start a program as the server's user. A clone below /root is closed to everybody else: there the program
 * keeps the one capability it needs to get through (setpriv is part of every Debian), and stays unprivileged otherwise.
 */
export function launchAs(
  user: ServerUser | undefined,
  command: string,
  args: readonly string[],
  paths: readonly string[],
): Launch {
  if (user === undefined) return { command, args };
  const closed = [command, ...paths].map((path) => closedFolder(path, user)).find((folder) => folder !== undefined);
  if (closed === undefined) return { command, args, uid: user.uid, gid: user.gid };
  if (!existsSync('/usr/bin/setpriv') && !existsSync('/bin/setpriv')) {
    throw new LocalStackError(
      'SERVER_USER',
      `PostgreSQL cannot run as root, and the user ${user.name} cannot enter ${closed}: move the project to a folder that others can enter, or run this as a normal user.`,
    );
  }
  // Without this bit access(2) ignores capabilities, and initdb, which asks it for the server's binary, finds none.
  const identity = ['--securebits=+no_setuid_fixup', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  const capability = [
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--bounding-set=-all,+dac_override',
  ];
  return { command: 'setpriv', args: [...identity, ...capability, command, ...args] };
}

/** The first folder on the way to a path that the user may not enter. */
export function closedFolder(path: string, user: ServerUser): string | undefined {
  const folders: string[] = [];
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (dirname(folder) === folder) break;
  }
  return folders.find((folder) => existsSync(folder) && !canEnter(folder, user));
}

function canEnter(folder: string, user: ServerUser): boolean {
  const { mode, uid, gid } = statSync(folder);
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & 1) === 1;
}

/** Makes the folders above a data folder, as ourselves. */
export function makeParent(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
}
