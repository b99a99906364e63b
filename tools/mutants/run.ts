import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkingCopy } from './copy.ts';
import { readMutants, tenth, type Mutant } from './mutants.ts';
import { namingTests } from './naming-tests.ts';
import { judge, type Outcome, type Verdict } from './verdict.ts';

// node tools/mutants/run.ts [--tenth] [--keep] [--results FILE] [name...]
// Plants each mutant in a copy of the tree and runs the tests that name its rule: one that they do not catch has failed.
//   --tenth    a tenth of them, another one with each commit
//   --keep     write docs/results/mutants.json
//   --results  write counts in the form of Jest's results
//   name...    only mutants whose name begins so: R07

interface Tried extends Mutant {
  verdict: Verdict;
  by: string[];
  seconds: number;
}

interface Results {
  testResults: { assertionResults: { fullName: string; status: string }[] }[];
  numRuntimeErrorTestSuites: number;
}

const root = join(import.meta.dirname, '../..');

async function main(args: string[]): Promise<number> {
  const file = args.includes('--results') ? args[args.indexOf('--results') + 1] : undefined;
  const names = args.filter((arg) => !arg.startsWith('--') && arg !== file);
  const chosen = choose(args.includes('--tenth'), names);
  const copy = new WorkingCopy(root);
  // An interrupted run leaves no copy behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  process.once('exit', () => copy.dispose());
  const tried = chosen.map((mutant) => report(tryOut(copy, mutant)));
  const survivors = tried.filter((mutant) => mutant.verdict !== 'caught');
  if (file !== undefined) writeFileSync(file, JSON.stringify(counts(tried.length, survivors.length)));
  if (args.includes('--keep')) keep(tried);
  console.log(`${tried.length - survivors.length} of ${tried.length} mutants caught`);
  return survivors.length === 0 && tried.length > 0 ? 0 : 1;
}

function choose(onlyTenth: boolean, names: string[]): Mutant[] {
  const all = readMutants(join(root, 'tests/mutants'));
  if (onlyTenth) return tenth(all, Number(git('rev-list', '--count', 'HEAD')) || 0);
  if (names.length === 0) return all;
  return all.filter((mutant) => names.some((name) => mutant.name.startsWith(name)));
}

function tryOut(copy: WorkingCopy, mutant: Mutant): Tried {
  const startedAt = Date.now();
  const done = (verdict: Verdict, by: string[]): Tried => {
    return { ...mutant, verdict, by, seconds: Math.round((Date.now() - startedAt) / 1000) };
  };
  try {
    copy.plant(mutant);
    const tests = namingTests(root, copy.files, mutant.rule);
    const outcomes = [runJest(copy, 'jest.config.cjs', tests.unit, mutant.rule)];
    // The slow ones only if the fast ones are green.
    if (judge(mutant.rule, outcomes).verdict !== 'caught') {
      outcomes.push(runJest(copy, 'jest.int.config.cjs', tests.integration, mutant.rule));
    }
    const { verdict, by } = judge(mutant.rule, outcomes);
    return done(verdict, by);
  } catch (error) {
    const { stderr, message } = error as { stderr?: Buffer; message: string };
    return done('broken', [`${message} ${stderr?.toString() ?? ''}`.trim()]);
  } finally {
    copy.remove(mutant);
  }
}

function runJest(copy: WorkingCopy, config: string, files: string[], rule: string): Outcome {
  if (files.length === 0) return { assertions: [], brokenFiles: 0 };
  const folder = mkdtempSync(join(tmpdir(), 'baton-mutant-'));
  const results = join(folder, 'results.json');
  const command = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
  ];
  command.push('--config', config, '--ci', '--silent', '--forceExit', '-t', `\\b${rule}\\b`);
  command.push('--json', '--outputFile', results, '--runTestsByPath', ...files);
  const { NODE_OPTIONS: _dropped, ...environment } = process.env;
  try {
    const child = spawnSync(process.execPath, command, { cwd: copy.folder, env: environment, timeout: 600_000 });
    if (!existsSync(results)) throw new Error(`Jest crashed: ${child.stderr.toString()}`);
    const read = JSON.parse(readFileSync(results, 'utf8')) as Results;
    const assertions = read.testResults.flatMap((result) => result.assertionResults);
    return { assertions, brokenFiles: read.numRuntimeErrorTestSuites };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(mutant: Tried): Tried {
  const tail = mutant.verdict === 'caught' ? (mutant.by[0] ?? '') : `${mutant.undoes} ${mutant.by.join(' ')}`;
  console.log(`${mutant.verdict.padEnd(8)} ${mutant.name} (${mutant.seconds} s): ${tail.slice(0, 300)}`);
  return mutant;
}

function counts(all: number, survived: number): object {
  return {
    numPassedTests: all - survived,
    numFailedTests: survived,
    numPendingTests: 0,
    numTodoTests: 0,
    numRuntimeErrorTestSuites: 0,
  };
}

function keep(tried: Tried[]): void {
  const mutants = tried.map(({ name, rule, undoes, verdict, by, seconds }) => {
    return { name, rule, undoes, verdict, caughtBy: verdict === 'caught' ? by : [], seconds };
  });
  const result = {
    name: 'mutants',
    at: new Date().toISOString(),
    commit: git('describe', '--always', '--dirty'),
    mutants,
  };
  mkdirSync(join(root, 'docs/results'), { recursive: true });
  writeFileSync(join(root, 'docs/results/mutants.json'), `${JSON.stringify(result, null, 2)}\n`);
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return ''; // Not a repository: an unpacked archive.
  }
}

process.exitCode = await main(process.argv.slice(2));
