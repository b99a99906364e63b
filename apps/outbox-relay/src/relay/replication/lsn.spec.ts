import { formatLsn, parseLsn } from './lsn.js';

describe('An LSN', () => {
  it('keeps its order across the boundary of 4 GiB, where text would not', () => {
    const before = parseLsn('0/FFFFFFF0');
    const after = parseLsn('1/10');
    expect(after > before).toBe(true);
    expect(after - before).toBe(0x20n);
    expect('1/10' > '0/FFFFFFF0').toBe(true);
    expect('10/0' > '9/0').toBe(false);
    expect(parseLsn('10/0') > parseLsn('9/0')).toBe(true);
  });

  it.each(['0/0', '0/FFFFFFF0', '1/10', 'FFFFFFFF/FFFFFFFF', '16/B374D848'])(
    'is written as it was read: %s',
    (text) => {
      expect(formatLsn(parseLsn(text))).toBe(text);
    },
  );

  it.each(['', '1', '1/', '/1', '1/G', '1/123456789', '1/2/3'])('is refused: %j', (text) => {
    expect(() => parseLsn(text)).toThrow(RangeError);
  });
});
