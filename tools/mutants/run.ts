import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sweepCopies, WorkingCopy } from './copy.ts';
import { readMutants, tenth, type Mutant } from './mutants.ts';
import { namingTests } from './naming-tests.ts';
import { judge, type Outcome, type Verdict } from './verdict.ts';

// node tools/mutants/run.ts [--tenth] [--keep] [--results FILE] [name...]
// Plants each mutant in a copy of the tree and runs the tests that name its rule: one that they do not catch has failed.
//   --tenth    a tenth of them, another one with each commit
//   --keep     write docs/results/mutants.json; what was not tried keeps its last verdict
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
/** Most of a trial is a start of Jest and of a server, which one core does not fill. */
const AT_ONCE = 2;
const TRIAL_LIMIT_MS = 600_000;

async function main(args: string[]): Promise<number> {
  const file = args.includes('--results') ? args[args.indexOf('--results') + 1] : undefined;
  const names = args.filter((arg) => !arg.startsWith('--') && arg !== file);
  const chosen = choose(args.includes('--tenth'), names);
  sweepCopies(root);
  const copies = Array.from({ length: Math.min(AT_ONCE, chosen.length) }, (_, index) => new WorkingCopy(root, index));
  // An interrupted run leaves no copy behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  process.once('exit', () => copies.forEach((copy) => copy.dispose()));
  const waiting = [...chosen];
  const tried: Tried[] = [];
  const work = async (copy: WorkingCopy): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      tried.push(report(await tryOut(copy, mutant)));
    }
  };
  await Promise.all(copies.map(work));
  tried.sort((a, b) => (a.name < b.name ? -1 : 1));
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

async function tryOut(copy: WorkingCopy, mutant: Mutant): Promise<Tried> {
  const startedAt = Date.now();
  const done = (verdict: Verdict, by: string[]): Tried => {
    return { ...mutant, verdict, by, seconds: Math.round((Date.now() - startedAt) / 1000) };
  };
  try {
    copy.plant(mutant);
    const tests = namingTests(copy.folder, copy.files, mutant.rule);
    const outcomes = [await runJest(copy, 'jest.config.cjs', tests.unit, mutant.rule)];
    // The slow ones only if the fast ones are green.
    if (judge(mutant.rule, outcomes).verdict !== 'caught') {
      outcomes.push(await runJest(copy, 'jest.int.config.cjs', tests.integration, mutant.rule));
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

async function runJest(copy: WorkingCopy, config: string, files: string[], rule: string): Promise<Outcome> {
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
    const output = await ended(command, { cwd: copy.folder, env: environment, timeout: TRIAL_LIMIT_MS });
    // Without results (the teardown refuses what a broken test leaves behind) its text tells what failed.
    if (!existsSync(results)) return fromText(output);
    const read = JSON.parse(readFileSync(results, 'utf8')) as Results;
    const assertions = read.testResults.flatMap((result) => result.assertionResults);
    return { assertions, brokenFiles: read.numRuntimeErrorTestSuites };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fromText(output: string): Outcome {
  const failed = [...output.matchAll(/^ {2}● (.+ › .+)$/gm)].map((match) => (match[1] ?? '').replaceAll(' › ', ' '));
  if (failed.length === 0) throw new Error(`Jest crashed: ${output}`);
  return { assertions: failed.map((fullName) => ({ fullName, status: 'failed' })), brokenFiles: 0 };
}

/** What it said, whatever its exit code: failed tests are what a trial is for. */
function ended(command: string[], options: object): Promise<string> {
  const all = { ...options, maxBuffer: 64 * 2 ** 20 };
  return new Promise((resolve) => {
    execFile(process.execPath, command, all, (_error, _stdout, stderr) => resolve(String(stderr)));
  });
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
  const file = join(root, 'docs/results/mutants.json');
  const now = tried.map(({ name, rule, undoes, verdict, by, seconds }) => {
    return {
      name,
      rule,
      undoes,
      verdict,
      caughtBy: verdict === 'caught' ? by : [],
      seconds,
      commit: git('describe', '--always', '--dirty'),
    };
  });
  const known = new Set(readMutants(join(root, 'tests/mutants')).map((mutant) => mutant.name));
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { mutants: typeof now }).mutants : [];
  const others = before.filter(({ name }) => known.has(name) && !now.some((mutant) => mutant.name === name));
  const mutants = [...others, ...now].sort((a, b) => (a.name < b.name ? -1 : 1));
  mkdirSync(join(root, 'docs/results'), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ name: 'mutants', at: new Date().toISOString(), mutants }, null, 2)}\n`);
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return ''; // Not a repository: an unpacked archive.
  }
}

process.exitCode = await main(process.argv.slice(2));
