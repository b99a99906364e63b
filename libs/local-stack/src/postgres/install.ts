import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LocalStackError } from '../errors.js';
import { readJson } from '../files.js';

const run = promisify(execFile);

export interface PackageInstall {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly onProgress: (line: string) => void;
}

/** Installs one npm package into a folder of its own; does nothing when that version is there. */
export async function installPackage({ folder, name, version, onProgress }: PackageInstall): Promise<void> {
  if (installedVersion(folder, name) === version) return;
  onProgress(`Downloading ${name} ${version} (once)`);
  mkdirSync(folder, { recursive: true });
  // A manifest of its own keeps npm from climbing up into the workspace.
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, JSON.stringify({ name: 'baton-postgres', private: true }));
  try {
    await run(
      'npm',
      ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`],
      {
        cwd: folder,
      },
    );
  } catch (cause) {
    throw new LocalStackError(
      'DOWNLOAD_FAILED',
      `npm could not install ${name} ${version}: is the npm registry reachable?`,
      {
        cause,
      },
    );
  }
}

function installedVersion(folder: string, name: string): string | undefined {
  const manifest = readJson<{ version?: string }>(join(folder, 'node_modules', name, 'package.json'));
  return manifest?.version;
}
