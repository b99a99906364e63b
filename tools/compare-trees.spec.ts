import { compareTrees } from './lib/compare-trees.ts';

const tree = (files: Record<string, string>): Map<string, string> => new Map(Object.entries(files));

describe('comparing committed with generated files', () => {
  it('finds nothing in equal trees', () => {
    expect(compareTrees(tree({ a: '1\n2' }), tree({ a: '1\n2' }))).toEqual([]);
  });

  it('names missing, left over and changed files', () => {
    const found = compareTrees(tree({ a: '1\n2\n3', old: '' }), tree({ a: '1\n9\n3', fresh: '' }));
    expect(found).toEqual([
      { path: 'a', what: 'differs from line 2 on' },
      { path: 'fresh', what: 'missing' },
      { path: 'old', what: 'nothing generates it any more' },
    ]);
  });

  it('sees lines that were added or cut at the end', () => {
    expect(compareTrees(tree({ a: '1' }), tree({ a: '1\n2' }))).toEqual([
      { path: 'a', what: 'differs from line 2 on' },
    ]);
    expect(compareTrees(tree({ a: '1\n2' }), tree({ a: '1' }))).toEqual([
      { path: 'a', what: 'differs from line 2 on' },
    ]);
  });
});
