import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTitles } from './lib/cases.ts';
import { changedItems, findItemProblems, itemIdsOf, itemPage } from './lib/saga-items.ts';
import { SAGA_ITEMS } from './lib/saga-item-list.ts';

const root = join(__dirname, '..');
const COUNTS = { K: 7, J: 13, P: 7, E: 16, C: 22, L: 8, O: 7, W: 20 };

describe('the list of what the saga runtime must do', () => {
  const titles = readTitles(root);

  it('has each item once, in order, with one sentence', () => {
    const expected = Object.entries(COUNTS).flatMap(([letter, count]) =>
      Array.from({ length: count }, (_one, index) => `${letter}${index + 1}`),
    );
    expect(SAGA_ITEMS.map(({ id }) => id)).toEqual(expected);
    for (const { what, changed } of SAGA_ITEMS) {
      expect(what).toMatch(/^[A-Z`].*\.$/);
      expect(changed ?? 'Why.').toMatch(/^[A-Z`].*\.$/);
    }
  });

  it('is, as far as it is changed on purpose, the table of the ADR', () => {
    const adr = readFileSync(join(root, 'docs', 'adr', '0011-what-the-saga-runtime-does-differently.md'), 'utf8');
    expect(adr).toContain(changedItems(SAGA_ITEMS));
  });

  it('has a test for each item, and for each weakness one that fails on the old behaviour', () => {
    expect(findItemProblems(SAGA_ITEMS, titles)).toEqual([]);
  });

  it('is on the page as the titles are (node tools/saga-items.ts writes it anew)', () => {
    expect(readFileSync(join(root, 'docs', 'reference', 'saga-acceptance.md'), 'utf8')).toBe(
      itemPage(SAGA_ITEMS, titles),
    );
  });
});

describe('the check of the list', () => {
  const items = [
    { id: 'K1', what: 'One.' },
    { id: 'W2', what: 'Two.', changed: 'Why.' },
  ];
  const file = 'libs/saga/src/a.spec.ts';
  const k1 = { file, title: 'K1: accepts one step' };
  const w2 = { file, title: 'W2: parks nothing' };
  const old = { file, title: 'W2: the old behaviour fails this check' };

  it('finds nothing where each item has its tests', () => {
    expect(findItemProblems(items, [k1, w2, old])).toEqual([]);
  });

  it.each([
    ['an item without a test', [w2, old]],
    ['a weakness without a test of its own', [k1, old]],
    ['a weakness whose check was never seen to fail', [k1, w2]],
    ['an id that is no item', [k1, w2, old, { file, title: 'J99: what' }]],
  ])('finds %s', (_what, titles) => {
    expect(findItemProblems(items, titles)).toHaveLength(1);
  });

  it("reads several ids of one title, and leaves the relay's own numbers alone", () => {
    expect(itemIdsOf({ file, title: 'P7, W16: never skips a row (R18, W160)' })).toEqual(['P7', 'W16']);
    expect(
      itemIdsOf({ file: 'apps/outbox-relay/src/relay/router.spec.ts', title: 'O3: keeps the order (L3)' }),
    ).toEqual(['O3']);
  });

  it('writes a page with the tests and a mark on what is changed on purpose', () => {
    const page = itemPage(items, [k1, w2, old]);
    expect(page).toContain('| K1 | One. | [a.spec.ts](../../libs/saga/src/a.spec.ts) K1: accepts one step |');
    expect(page).toContain('| W2 \\* | Two. |');
    expect(page).toContain('0011-what-the-saga-runtime-does-differently.md');
    expect(changedItems(items)).toContain('| W2 | Two. | Why. |');
  });
});
