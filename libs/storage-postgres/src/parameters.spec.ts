import { encoderOf } from './parameters.js';

const encodeParameter = (type: string, value: unknown) => encoderOf(type)(value);

const hexOf = (type: string, values: unknown) => (encodeParameter(type, values) as Buffer).toString('hex');
/** One dimension, nulls possible, element type, length, first index 1. */
const header = (type: string, length: string) => `0000000100000001${type}${length}00000001`;

describe('binary parameters', () => {
  it('hold text byte for byte, NULL apart from empty', () => {
    expect(hexOf('text[]', ['é"\\', null, ''])).toBe(
      `${header('00000019', '00000003')}00000004c3a9225cffffffff00000000`,
    );
  });

  it('hold ids as their sixteen bytes', () => {
    const id = '01a22e54-0f2c-7326-aff0-5f52144105e0';
    const bytes = '01a22e540f2c7326aff05f52144105e0';
    expect(hexOf('uuid[]', [id, id.toUpperCase(), id])).toBe(
      `${header('00000b86', '00000003')}${`00000010${bytes}`.repeat(3)}`,
    );
  });

  it.each(['', 'nonsense',
    '01a22e540f2c7326aff05f52144105e0',
    '01a22e54-0f2c7-326-aff0-5f52144105e0', '01a22e54-0f2c-7326-aff0-5f52144105e', '01a22e54-0f2c-7326-aff0-5f52144105e0a', '01a22e54-0f2c-7326-aff0-5f52144105g0', 'é1a22e54-0f2c-7326-aff0-5f52144105e0'])(
    'refuse %j as an id',
    (value) => expect(() => encodeParameter('uuid[]', [value])).toThrow('not a UUID'),
  ); // prettier-ignore

  it('hold 64-bit numbers of both signs, and refuse what is none', () => {
    const max = Number.MAX_SAFE_INTEGER;
    expect(hexOf('bigint[]', [max, -max, -1, 0x1_0000_0000])).toBe(
      `${header('00000014', '00000004')}00000008001fffffffffffff00000008ffe000000000000100000008ffffffffffffffff000000080000000100000000`,
    );
    expect(() => encodeParameter('bigint[]', [0.5])).toThrow('not an integer');
    expect(() => encodeParameter('bigint[]', [Number.NaN])).toThrow('not an integer');
  });

  it('hold small numbers, flags and nothing', () => {
    expect(hexOf('integer[]', [7, null])).toBe(`${header('00000017', '00000002')}0000000400000007ffffffff`);
    expect(hexOf('smallint[]', [-2])).toBe(`${header('00000015', '00000001')}00000002fffe`);
    expect(hexOf('boolean[]', [true, false])).toBe(`${header('00000010', '00000002')}00000001010000000100`);
    expect(hexOf('text[]', [])).toBe('000000000000000100000019');
    expect(encodeParameter('text', 'as it is')).toBe('as it is');
  });

  it('outgrow their scratch space', () => {
    const large = 'x'.repeat(300_000);
    const encoded = encodeParameter('text[]', [large, 'é', large]) as Buffer;
    expect(encoded.length).toBe(20 + 4 + 300_000 + 4 + 2 + 4 + 300_000);
  });
});
