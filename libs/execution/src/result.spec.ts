import { encodeResult, rawJson } from './result.js';

const text = (value: unknown) => {
  const encoded = encodeResult(value);
  return encoded.ok ? encoded.text : encoded.code;
};

describe("a handler's result (B76)", () => {
  it('that is undefined is null', () => {
    expect(text(undefined)).toBe('null');
  });

  it('keeps dates as ISO text and leaves undefined fields out', () => {
    expect(text({ at: new Date(0), gone: undefined, list: [undefined] })).toBe(
      '{"at":"1970-01-01T00:00:00.000Z","list":[null]}',
    );
  });

  it.each([
    ['NaN', { n: NaN }],
    ['Infinity', [Infinity]],
    ['BigInt', { deep: { b: 10n } }],
    ['Map', { m: new Map([[1, 2]]) }],
    ['Set', new Set([1])],
    ['a function', () => 1],
    ['a function inside', { f: () => 1 }],
    ['a symbol', Symbol('s')],
    ['a promise', { p: Promise.resolve(1) }],
    ['an error', new Error('x')],
    ['bytes', new Uint8Array(2)],
    ['an invalid date', { d: new Date(NaN) }],
  ])('with %s is refused as RESULT_NOT_JSON, not changed in silence', (_what, value) => {
    expect(text(value)).toBe('RESULT_NOT_JSON');
  });

  it('with a cycle is refused', () => {
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(text(loop)).toBe('RESULT_NOT_JSON');
  });

  it('whose toJSON throws is refused', () => {
    const value = {
      toJSON() {
        throw new Error('no');
      },
    };
    expect(text(value)).toBe('RESULT_NOT_JSON');
  });

  it('made as raw JSON is sent byte for byte', () => {
    expect(text(rawJson('{ "n": 12345678901234567890 }'))).toBe('{ "n": 12345678901234567890 }');
    expect(text(rawJson('{ nope'))).toBe('PAYLOAD_NOT_JSON');
  });

  it('has the limits of every payload', () => {
    expect(text('x'.repeat(1_048_577))).toBe('PAYLOAD_TOO_LARGE');
    expect(text('x'.repeat(1_048_576 - 2))).toHaveLength(1_048_576);
    expect(text({ s: 'a\0b' })).toBe('PAYLOAD_NUL');
    expect(text({ s: '\ud800' })).toBe('PAYLOAD_SURROGATE');
    let deep: unknown = 1;
    for (let i = 0; i < 200; i += 1) deep = [deep];
    expect(text(deep)).toBe('PAYLOAD_TOO_DEEP');
  });

  it('may have keys that look like prototypes', () => {
    const value: unknown = JSON.parse('{"__proto__":{"admin":true},"constructor":1}');
    expect(text(value)).toBe('{"__proto__":{"admin":true},"constructor":1}');
  });
});
