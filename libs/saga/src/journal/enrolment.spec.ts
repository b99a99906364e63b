import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SourceText } from '../testing/architecture.js';
import { enrolledIn, implementationsOf } from '../testing/enrolment.js';

const src = resolve(__dirname, '..');

function read(matches: (path: string) => boolean): readonly SourceText[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts') && matches(path))
    .map((path) => ({ path, text: readFileSync(join(src, path), 'utf8') }));
}

const isSpec = (path: string) => path.endsWith('.spec.ts');
/** What ships, and what `@baton/saga/testing` hands out. Fakes of single specs are not implementations. */
const sources = read((path) => !isSpec(path) && !/(^|\/)(testing|weaknesses)\//.test(path)).concat(
  read((path) => /^testing\/[^/]*$/.test(path) && !isSpec(path)),
);
const helpers = read((path) => path.startsWith('testing/') && !isSpec(path));
const specs = read(isSpec);

const missing = (all: readonly SourceText[]) => {
  const enrolled = enrolledIn(specs, helpers);
  return implementationsOf(all).filter((name) => !enrolled.has(name));
};

describe('the enrolment in the suite of the journal', () => {
  it('J: every implementation of the ports runs it', () => {
    expect(implementationsOf(sources)).toEqual(['createJournal', 'openMemorySagaStore', 'openSagaStore']);
    expect(missing(sources)).toEqual([]);
  });

  it.each([
    [
      'a database that nobody tests',
      `export async function openFileStore(): Promise<SagaStore> { throw new Error(); }`,
      'openFileStore',
    ],
    ['a second journal', `export class RedisJournal implements Journal {}`, 'RedisJournal'],
    ['a journal made by an arrow', `export const otherJournal = (): SagaJournal => null as never;`, 'otherJournal'],
  ])('J: %s is found', (_what, text, name) => {
    expect(missing([...sources, { path: 'storage/planted.ts', text }])).toEqual([name]);
  });

  it('J: the in-memory journal is the engine over another store, not a second one', () => {
    const journals = implementationsOf(sources.filter(({ path }) => path.startsWith('journal/')));
    expect(journals).toEqual(['createJournal']);
  });
});
