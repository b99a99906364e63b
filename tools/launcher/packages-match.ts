import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagesMatch, type Lockfile } from './lockfiles.ts';

// Exit code 0 when the installed packages are those of the lock file (somebody ran npm by hand): then the launcher
// need not install them again. Imports nothing: it runs when there may be no packages at all.

const root = process.argv[2] ?? '.';

function read(path: string): Lockfile | undefined {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8')) as Lockfile;
  } catch {
    return undefined;
  }
}

const wanted = read('package-lock.json');
// npm writes this file last, so a broken installation has none or an old one.
const installed = read('node_modules/.package-lock.json');
process.exitCode = wanted !== undefined && installed !== undefined && packagesMatch(wanted, installed) ? 0 : 1;
