import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseMutant, readMutants, tenth } from './mutants.ts';
import { judge } from './verdict.ts';

const patch = `Rule: R7
Undoes: Waits for locks, so one slow run holds up all.

diff --git a/libs/x.sql b/libs/x.sql
--- a/libs/x.sql
+++ b/libs/x.sql
@@ -1 +1 @@
-SKIP LOCKED
+
`;

describe('mutants', () => {
  it('are read with their rule, their sentence and the files that they change', () => {
    expect(parseMutant('f', 'R07-waits', patch)).toMatchObject({ rule: 'R7', touched: ['libs/x.sql'], build: [] });
  });

  it.each([
    ['no rule', 'R07-waits', patch.replace('Rule: R7\n', '')],
    ['no sentence', 'R07-waits', patch.replace(/Undoes: .*\n/, '')],
    ['no diff', 'R07-waits', 'Rule: R7\nUndoes: x\n'],
    ['a name of another rule', 'R08-waits', patch],
  ])('with %s are refused', (_what, name, text) => {
    expect(() => parseMutant('f', name, text)).toThrow(/^f: /);
  });

  it('all apply to the tree as it is: a change of the code that they are of changes them too', () => {
    const root = join(__dirname, '../..');
    const stale = readMutants(join(root, 'tests/mutants')).filter(
      (mutant) => spawnSync('git', ['apply', '--check', mutant.file], { cwd: root }).status !== 0,
    );
    expect(stale.map((mutant) => mutant.name)).toEqual([]);
  });

  it('all come up within ten turns, each in one of them', () => {
    const all = readMutants(join(__dirname, '../../tests/mutants'));
    const seen = Array.from({ length: 10 }, (_, turn) => tenth(all, turn + 37)).flat();
    expect(seen.map((mutant) => mutant.name).sort()).toEqual(all.map((mutant) => mutant.name).sort());
  });
});

describe('the verdict on a mutant', () => {
  const test = (fullName: string, status: string) => ({ assertions: [{ fullName, status }], brokenFiles: 0 });

  it('is "caught" when a test that names the rule fails', () => {
    expect(judge('R7', [test('R7: skips', 'failed')]).verdict).toBe('caught');
  });

  it('is "survived" when all that name it stay green, whatever else fails', () => {
    expect(judge('R7', [test('R7: skips', 'passed'), test('R70 or so', 'failed')]).verdict).toBe('survived');
  });

  it('is "broken" when test files cannot run, "unnamed" when no test names the rule', () => {
    expect(judge('R7', [{ assertions: [], brokenFiles: 1 }]).verdict).toBe('broken');
    expect(judge('R7', [test('R8: condemns', 'passed'), test('R7: skips', 'pending')]).verdict).toBe('unnamed');
  });
});
