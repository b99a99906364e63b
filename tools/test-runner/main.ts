import { join } from 'node:path';
import { sum, type Counts } from './counts.ts';
import { runSuite, seconds, type CheckVerdicts } from './run-suite.ts';
import { selectSuites, suites, type Suite } from './suites.ts';

// `./baton verify` and `./baton test [suite...] [--list]`. The last line is always `N passed, N failed`.

const root = join(import.meta.dirname, '../..');
const usage = 'usage: ./baton test [--list] [suite...]    (./baton verify is ./baton test verify)';

interface Line {
  suite: Suite;
  counts: Counts;
  ms: number;
}

async function runAll(selected: Suite[]): Promise<Line[]> {
  const verdicts: CheckVerdicts = new Map();
  const lines: Line[] = [];
  for (const suite of selected) {
    console.log(`\n${suite.name}: ${suite.about}`);
    const startedAt = Date.now();
    const counts = await runSuite(suite, root, verdicts);
    lines.push({ suite, counts, ms: Date.now() - startedAt });
    if (counts.problems.some((problem) => problem.endsWith('interrupted'))) break;
  }
  return lines;
}

function print(lines: Line[]): Counts {
  console.log('');
  for (const { suite, counts, ms } of lines) {
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    console.log(`${suite.name.padEnd(14)} ${counts.passed} passed, ${counts.failed} failed${skipped} (${seconds(ms)})`);
    for (const problem of counts.problems) console.log(`${' '.repeat(14)} ${problem}`);
  }
  const total = sum(lines.map((line) => line.counts));
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return total;
}

function list(): void {
  console.log(`${'verify'.padEnd(14)} all of: ${names((suite) => suite.verify)}`);
  for (const suite of suites) console.log(`${suite.name.padEnd(14)} ${suite.about}`);
}

function names(which: (suite: Suite) => boolean): string {
  return suites
    .filter(which)
    .map((suite) => suite.name)
    .join(', ');
}

async function main(args: string[]): Promise<number> {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const options = args.filter((arg) => arg.startsWith('-'));
  const { selected, unknown } = selectSuites(words);
  if (options.some((option) => option !== '--list') || unknown.length > 0) {
    for (const word of unknown) console.error(`There is no suite ${word}: ${names(() => true)}.`);
    console.error(usage);
    return 2;
  }
  if (options.includes('--list')) {
    list();
    return 0;
  }
  const total = print(await runAll(selected));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
