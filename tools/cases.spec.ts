import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCaseProblems, readCaseRows, readNumberedTitles, titlesOf, withTests } from './lib/cases.ts';

const root = join(__dirname, '..');
const numbers = (text: string): string[] => text.split(' ').map((number) => `B${number}`);

/** The numbers of the collection; those between them were dropped from it before. */
const CASES = numbers(
  '01 02 04 06 07 08 09 11 12 14 15 18 19 20 21 23 24 26 27 29 30 32 34 37 38 39 40 42 43 45 46 47 49 50 52 54 56 57 ' +
    '58 59 62 63 64 65 67 69 70 72 73 74 76 77 78 82 83 85 87 88 90 92 93 95 96 98 99 100 101 103 104 106 107 108 109 ' +
    '111 112 114 116 118 120 122 123 125 126',
);

describe('the table of the cases from the field', () => {
  const markdown = readFileSync(join(root, 'docs', 'reference', 'cases.md'), 'utf8');
  const rows = readCaseRows(markdown);
  const titles = readNumberedTitles(root);

  it('has each of the 83 once, in order', () => {
    expect(CASES).toHaveLength(83);
    expect(rows.map((row) => row.id)).toEqual(CASES);
  });

  it('agrees with the titles of the tests (node tools/cases.ts writes them anew)', () => {
    expect(titles.length).toBeGreaterThan(50);
    expect(findCaseProblems(rows, titles)).toEqual([]);
  });
});

describe('the check of the table', () => {
  const row = (shownBy: string, waits = ''): string => `| B07 | what | ${shownBy} | ${waits} |`;
  const entry = '[a.spec.ts](../../libs/a/a.spec.ts) B07: ends \\[once\\] a\\|b';
  const title = { file: 'libs/a/a.spec.ts', title: 'B07: ends [once] a|b', cases: ['B07'] };

  it('finds nothing where both agree, or where a case waits for a part that is not there', () => {
    expect(findCaseProblems(readCaseRows(row(entry)), [title])).toEqual([]);
    expect(findCaseProblems(readCaseRows(row('', 'switch nodes')), [])).toEqual([]);
  });

  it.each([
    ['a test that is gone', row(entry), []],
    ['a test that lost its number', row(entry), [{ ...title, cases: ['B08'] }]],
    ['a test in another file', row(entry), [{ ...title, file: 'libs/b/b.spec.ts' }]],
    ['a case that nothing shows and that waits for nothing', row(''), []],
    ['a case that waits, although a test shows it', row('', 'switch nodes'), [title]],
    ['a number that is no case', row('', 'switch nodes'), [{ ...title, cases: ['B99'] }]],
  ])('finds %s', (_what, markdown, titles) => {
    expect(findCaseProblems(readCaseRows(markdown), titles).length).toBeGreaterThan(0);
  });

  it('reads titles of tests and groups, plain, of tables and with parts that are filled in', () => {
    const source = `
      describe('B01: a', () => {
        it.each([1])('b %i (B02)', () => log('B03'));
        it(\`B04 \${n}\`, () => {});
        test.skip("B05", () => {});
        describe.each(MAJORS)('B06', () => {});
      });`;
    expect(titlesOf(source)).toEqual(['B01: a', 'b %i (B02)', 'B04 ${n}', 'B05', 'B06']);
  });

  it('writes the tests into the rows, and nothing else', () => {
    const before = `text\n${row('', 'switch nodes')}\n`;
    const after = withTests(before, [title]);
    expect(after).toBe(`text\n${row(entry, 'switch nodes')}\n`);
    expect(withTests(after, [title])).toBe(after);
    expect(withTests(after, [])).toBe(before.replace('|  |', '| |'));
  });
});
