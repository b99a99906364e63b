import { execFileSync } from 'node:child_process';
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { postgresBinaries } from './binaries.js';
import { closedFolder, launchAs, serverUser } from './server-user.js';

const asRoot = process.getuid?.() === 0 ? it : it.skip;

describe('a project in a folder that only root can enter, such as /root', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-closed-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  asRoot('still makes a data folder with the programs that lie in it', async () => {
    const { initdb } = await postgresBinaries(18, () => undefined);
    cpSync(dirname(dirname(initdb)), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir, { mode: 0o700 });
    const user = serverUser(folder);
    if (user === undefined) throw new Error('root needs a user for its server');
    chownSync(dataDir, user.uid, user.gid);
    expect(closedFolder(dataDir, user)).toBe(folder);

    const args = ['-D', dataDir, '-U', 'baton', '--auth=trust', '--no-sync', '--no-locale'];
    const launch = launchAs(user, join(folder, 'native', 'bin', 'initdb'), args, [dataDir]);
    execFileSync(launch.command, [...launch.args], { cwd: '/', stdio: 'pipe' });

    expect(existsSync(join(dataDir, 'PG_VERSION'))).toBe(true);
  });
});
