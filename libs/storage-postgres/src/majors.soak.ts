import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepResult, workspaceRoot } from '@baton/testkit';

const MAJORS = [14, 15, 16, 17, 18] as const;

interface Outcome {
  readonly major: number;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly problems: readonly string[];
}

/** What depends on the database itself. Locks, faults and orders of calls are the same everywhere. */
const SPECS = [
  'contract',
  'claims',
  'events',
  'start-on',
  'keyed-starts',
  'starts',
  'keys',
  'leases',
  'lease-decisions',
  'single-statements',
  'plans',
  'engine',
  'signals',
  'payloads',
  'queries',
  'timer-store',
  'due-rows',
  'database-clock',
  'library-store',
  'write/write',
  'write/fences',
  'schema/partitions',
];

describe('the suite of the store', () => {
  it('passes on PostgreSQL 14 to 18', async () => {
    const outcomes: Outcome[] = [];
    for (const major of MAJORS) outcomes.push(await suiteOn(major));
    keepResult('majors', { outcomes });
    expect(outcomes.filter(({ passed, failed }) => failed > 0 || passed < 200)).toEqual([]);
  });
});

interface JestResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** A run of its own: its servers, its folder. */
async function suiteOn(major: number): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-majors-'));
  const startedAt = performance.now();
  try {
    const file = join(folder, 'results.json');
    await runJest(['--json', '--outputFile', file], { BATON_TEST_POSTGRES: String(major) });
    const results = JSON.parse(readFileSync(file, 'utf8')) as JestResults;
    const failures = results.testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    );
    return {
      major,
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      problems: failures,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const SPECS_PATTERN = `libs/storage-postgres/src/(${SPECS.join('|')})\\.int\\.spec`;

/** Ends in either case: failed tests are told by the results. */
function runJest(more: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const jest = join(workspaceRoot, 'node_modules/jest/bin/jest.js');
  const args = [jest, '--config', 'jest.int.config.cjs', SPECS_PATTERN, ...more];
  const { BATON_TEST_FOLDER: _own, ...outer } = process.env;
  const options = { cwd: workspaceRoot, env: { ...outer, ...env }, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => execFile(process.execPath, args, options, () => resolve()));
}
