import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** What decides and what writes: none of it may ask the time (R27, I3). Specs and their helpers are not of it. */
const LIBS = join(__dirname, '..', '..');
const FOLDERS = ['core', 'engine', 'storage-postgres'];

const CLOCKS = /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\)|\bperformance\.now\b|\bhrtime\b|\bTemporal\b/;

function sources(): readonly string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(LIBS, folder, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.split(sep).includes('testing'))
      .map((file) => join(LIBS, folder, 'src', file)),
  );
}

describe('the code that decides and writes', () => {
  it('R27: never asks a clock of its process', () => {
    const asking = sources().filter((file) => CLOCKS.test(readFileSync(file, 'utf8')));
    expect(asking.map((file) => relative(LIBS, file))).toEqual([]);
    expect(sources().length).toBeGreaterThan(80);
  });

  it('R27: would be found if it did', () => {
    for (const planted of ['if (dueAt <= Date.now())', 'const at = new Date();', 'performance.now() - started']) {
      expect(CLOCKS.test(planted)).toBe(true);
    }
    expect(CLOCKS.test('new Date(row.startedAt)')).toBe(false);
  });
});
