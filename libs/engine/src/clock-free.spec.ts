import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** What decides and what writes: none of it may ask the time (R27, I3). Tests and their helpers are not of it. */
const LIBS = join(__dirname, '..', '..');
const FOLDERS = ['core', 'engine', 'storage-postgres'];

/** Neither decides nor writes: how long its holder may trust a lease of its own, by the monotonic clock. */
const HOLDERS = new Set([join('storage-postgres', 'src', 'active-role.ts')]);

const CLOCKS = /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\)|\bperformance\.now\b|\bhrtime\b|\bTemporal\b/;

function sources(): readonly string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(LIBS, folder, 'src'), { recursive: true, encoding: 'utf8' })
      .filter(
        (file) => file.endsWith('.ts') && !/\.(?:spec|soak)\.ts$/.test(file) && !file.split(sep).includes('testing'),
      )
      .map((file) => join(LIBS, folder, 'src', file))
      .filter((file) => !HOLDERS.has(relative(LIBS, file))),
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
