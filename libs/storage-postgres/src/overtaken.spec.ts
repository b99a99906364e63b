import { isYounger } from './overtaken.js';

describe('the order of two transactions', () => {
  const wrap = 2n ** 32n;

  it.each<[what: string, row: readonly [string, bigint, bigint], expected: boolean]>([
    ['younger', ['101', 100n, 200n], true],
    ['older', ['99', 100n, 200n], false],
    ['the same', ['100', 100n, 200n], false],
    ['younger, past a wrap of the 32 bits', ['5', wrap - 2n, wrap + 10n], true],
    ['older, before a wrap', [String(wrap - 2n), wrap + 5n, wrap + 10n], false],
    ['of a row older than its bits reach back: nobody has had it yet', ['2000000000', 100n + wrap, 200n + wrap], false],
    ['ahead of everything', ['900', 100n, 200n], false],
  ])('%s', (_what, [writer, own, next], expected) => {
    expect(isYounger(writer, own, next)).toBe(expected);
  });
});
