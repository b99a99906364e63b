import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { workspaceRoot } from './platform/service-process.js';

/**
 * Keeps what a long test found as docs/results/NAME.json, with the commit and the size of the machine. The last result
 * replaces the one before; history is in version control.
 */
export function keepResult(name: string, figures: Readonly<Record<string, unknown>>): void {
  const folder = join(workspaceRoot, 'docs/results');
  mkdirSync(folder, { recursive: true });
  const machine = { cpus: availableParallelism(), memoryGiB: Math.round(totalmem() / 2 ** 30), node: process.version };
  const result = { name, at: new Date().toISOString(), commit: commit(), machine, ...figures };
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`);
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: workspaceRoot, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown'; // Not a repository: an unpacked archive.
  }
}
