import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Mutant } from './mutants.ts';

/** Copies of runs that were killed. */
export function sweepCopies(root: string): void {
  const folder = join(root, '.baton/mutants');
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (!isAlive(Number.parseInt(name, 10))) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A copy of the working tree in which mutants are planted: the tree itself never holds a broken file. */
export class WorkingCopy {
  /** Every file of the project, relative to its root. */
  readonly files: string[];
  readonly folder: string;
  private readonly root: string;

  constructor(root: string, number: number) {
    this.root = root;
    this.folder = join(root, '.baton/mutants', `${process.pid}-${number}`);
    this.files = list(root);
    this.dispose();
    mkdirSync(this.folder, { recursive: true });
    for (const file of this.files) this.copy(file);
    // Hard links; the links to the workspace's own packages are relative, and so lead to the copy.
    execFileSync('cp', ['-al', join(root, 'node_modules'), this.folder]);
    for (const project of new Set(this.files.map((file) => file.split('/').slice(0, 2).join('/')))) {
      const built = join(project, 'dist');
      if (existsSync(join(root, built))) cpSync(join(root, built), join(this.folder, built), { recursive: true });
    }
    // What was fetched for the tree (servers) serves the copy too.
    symlinkSync(join(root, '.baton'), join(this.folder, '.baton'));
  }

  plant(mutant: Mutant): void {
    // Above the copy lies a repository, of which it is no part.
    const environment = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(this.folder) };
    execFileSync('git', ['apply', '--whitespace=nowarn', mutant.file], {
      cwd: this.folder,
      env: environment,
      stdio: 'pipe',
    });
    this.build(mutant);
  }

  remove(mutant: Mutant): void {
    for (const file of mutant.touched) {
      rmSync(join(this.folder, file), { force: true });
      if (existsSync(join(this.root, file))) this.copy(file);
    }
    this.build(mutant);
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private build(mutant: Mutant): void {
    if (mutant.build.length === 0) return;
    const args = ['node_modules/typescript/bin/tsc', '-b', ...mutant.build];
    execFileSync(process.execPath, args, { cwd: this.folder, stdio: 'pipe' });
  }

  private copy(file: string): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    cpSync(join(this.root, file), join(this.folder, file));
  }
}

function list(root: string): string[] {
  const options = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const text = execFileSync('git', options, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
  return [...new Set(text.split('\0'))].filter((file) => file !== '' && existsSync(join(root, file)));
}
