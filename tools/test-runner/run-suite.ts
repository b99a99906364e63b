import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countCheck, countJest, failure, nothing, sum, type Counts, type JestResults } from './counts.ts';
import { runChild } from './run-child.ts';
import type { Check, JestRun, Program, Suite } from './suites.ts';

/** A Jest run that has written its results and is still there has left something open. */
const leftOpenMs = 20_000;

/** Checks that several suites need (the build) run once; the rest get its verdict. */
export type CheckVerdicts = Map<string, boolean>;

export async function runSuite(suite: Suite, root: string, verdicts: CheckVerdicts): Promise<Counts> {
  const deadline = Date.now() + suite.limitMs;
  const all: Counts[] = [];
  for (const step of suite.steps) {
    const counts =
      step.kind === 'check'
        ? await runCheck(step, { root, deadline, verdicts })
        : await runCounted(step, root, deadline);
    all.push(counts);
    if (counts.failed > 0) break;
  }
  return sum(all);
}

interface CheckContext {
  root: string;
  deadline: number;
  verdicts: CheckVerdicts;
}

async function runCheck(step: Check, { root, deadline, verdicts }: CheckContext): Promise<Counts> {
  const known = verdicts.get(step.name);
  if (known !== undefined) return known ? nothing : failure(`${step.name} failed before, so this could not run`);
  console.log(`  ${step.name} ...`);
  const startedAt = Date.now();
  const ended = await runChild(step.command, { cwd: root, deadline, quiet: true });
  const counts = countCheck(step.name, ended);
  if (counts.failed > 0) console.log(ended.output);
  console.log(`  ${step.name} ${counts.failed > 0 ? 'FAILED' : 'ok'} (${seconds(Date.now() - startedAt)})`);
  verdicts.set(step.name, counts.failed === 0);
  return counts;
}

async function runCounted(step: JestRun | Program, root: string, deadline: number): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-tests-'));
  const resultsFile = join(folder, 'results.json');
  const command = step.kind === 'jest' ? jest(step, resultsFile) : [...step.command, '--results', resultsFile];
  try {
    const shouldStop = leftOpenWatch(resultsFile);
    const ended = await runChild(command, { cwd: root, deadline, quiet: false, shouldStop });
    return countJest(step.name, ended, readResults(resultsFile));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function jest(step: JestRun, resultsFile: string): string[] {
  const command = [process.execPath, '--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  command.push('node_modules/jest/bin/jest.js', '--config', step.config, '--ci', '--json', '--outputFile', resultsFile);
  return [...command, ...(step.args ?? [])];
}

function leftOpenWatch(resultsFile: string): () => string | undefined {
  let writtenAt: number | undefined;
  return () => {
    if (writtenAt === undefined && existsSync(resultsFile)) writtenAt = Date.now();
    const late = writtenAt !== undefined && Date.now() - writtenAt > leftOpenMs;
    return late ? 'its tests ended, but something that they opened did not' : undefined;
  };
}

function readResults(file: string): JestResults | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JestResults;
  } catch {
    return undefined; // No file, or half of one: the run crashed, and countJest says so.
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
