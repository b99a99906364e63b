import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareTrees } from './lib/compare-trees.ts';

// node tools/generate.ts          lints proto/ and writes the generated code into libs/contracts
// node tools/generate.ts --check  lints proto/ and fails when the committed code is not what would be generated

const root = join(import.meta.dirname, '..');
const generated = 'src/generated';
const target = join(root, 'libs/contracts');

function buf(...args: string[]): void {
  const child = spawnSync(join(root, 'node_modules/.bin/buf'), args, { cwd: join(root, 'proto'), stdio: 'inherit' });
  if (child.error) throw child.error;
  if (child.status !== 0) process.exit(1);
}

function check(): number {
  const folder = mkdtempSync(join(tmpdir(), 'baton-generated-'));
  try {
    buf('generate', '-o', folder);
    const differences = compareTrees(readTree(join(target, generated)), readTree(join(folder, generated)));
    for (const { path, what } of differences) console.error(`libs/contracts/${generated}/${path}: ${what}`);
    if (differences.length > 0) console.error('Run `node tools/generate.ts` and commit what it writes.');
    return differences.length > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readTree(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((file) => {
      const path = join(file.parentPath, file.name);
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
    }),
  );
}

buf('lint');
if (process.argv.includes('--check')) process.exitCode = check();
else buf('generate', '-o', target);
