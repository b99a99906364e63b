import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..', '..');
const CODE = /^(?:[A-Z0-9]+_)+[A-Z0-9]+$/;

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

function sources(): string {
  const folder = join(__dirname);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const own = files.filter((file) => file.endsWith('.ts') && !/\.(int\.)?spec\.ts$|\.soak\.ts$|testing/.test(file));
  return [...own.map((file) => readFileSync(join(folder, file), 'utf8')), read('libs/core/src/run/check.ts')].join(
    '\n',
  );
}

const codesOf = (text: string, quoted: RegExp): Set<string> =>
  new Set(
    [...text.matchAll(quoted)]
      .map((match) => match[1] ?? '')
      .filter((word) => CODE.test(word) && !word.startsWith('BATON_')),
  );

describe('codes of findings', () => {
  it('are in the documentation, all of them and no others', () => {
    const statuses = new Set(['TIMED_OUT', 'COMPENSATION_FAILED']);
    const known = [...codesOf(sources(), /'([A-Z0-9_]+)'/g)].filter((word) => !statuses.has(word));
    const told = codesOf(read('docs/how-to/check-a-platform.md'), /`([A-Z0-9_]+)`/g);
    expect([...told].sort()).toEqual(known.sort());
  });
});
