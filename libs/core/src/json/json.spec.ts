import { canonicalJson } from './canonical.js';
import { checkPayload } from './check-payload.js';
import { parseJson } from './parse.js';
import { findPath, jsonPointer, sliceByPath } from './path.js';
import { findJsonFault } from './scan.js';
import { utf8Length } from './utf8.js';

const DEEP = 100;

function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

describe('checkPayload', () => {
  it.each([
    'null',
    'true',
    ' {} ',
    '[]',
    '"x"',
    '-0',
    '1e5',
    '1.50E-3',
    '{"a":[1,{"b":null}]}',
    '"\\ud83d\\ude00"',
    '"😀"',
  ])('accepts %s and counts its bytes', (text) => {
    expect(checkPayload(text)).toEqual({ ok: true, bytes: Buffer.byteLength(text) });
  });

  it.each([
    '',
    ' ',
    '{',
    '}',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '{"a" 1}',
    '{"a":}',
    '[1 2]',
    '01',
    '1.',
    '.5',
    '+1',
    '1e',
    '-',
    'nul',
    'NaN',
    'undefined',
    '"a',
    '"\\x"',
    '"\\u12"',
    '"\t"',
    '"a\nb"',
    '1 2',
    '{} []',
    '[}',
    '{]',
    '//x',
    '\ufeff{}',
  ])('refuses what is not JSON: %j', (text) => {
    expect(() => void JSON.parse(text)).toThrow();
    expect(checkPayload(text)).toMatchObject({ ok: false, code: 'PAYLOAD_NOT_JSON' });
  });

  it('B67: refuses NUL, raw and escaped, and not the text that only looks like it', () => {
    expect(checkPayload('"a\u0000b"')).toMatchObject({ code: 'PAYLOAD_NUL' });
    expect(checkPayload('{"a":"x\\u0000y"}')).toMatchObject({ code: 'PAYLOAD_NUL' });
    expect(checkPayload('{"x\\u0000y":1}')).toMatchObject({ code: 'PAYLOAD_NUL' });
    expect(checkPayload('"literal \\\\u0000 text"')).toMatchObject({ ok: true });
  });

  it('refuses lone surrogates, raw and escaped', () => {
    for (const text of ['"\ud800"', '"\udc00x"', '"\\ud800"', '"\\udc00"', '"\\ud800\\u0041"', '"\\ud800x"']) {
      expect(checkPayload(text)).toMatchObject({ ok: false, code: 'PAYLOAD_SURROGATE' });
    }
  });

  it('B72: allows 100 levels, refuses more, and does not overflow on a million', () => {
    expect(checkPayload(nested(DEEP))).toMatchObject({ ok: true });
    expect(checkPayload(nested(DEEP + 1))).toMatchObject({ code: 'PAYLOAD_TOO_DEEP' });
    expect(checkPayload('['.repeat(1_000_000))).toMatchObject({ code: 'PAYLOAD_TOO_DEEP' });
    expect(checkPayload('{"a":'.repeat(20_000))).toMatchObject({ code: 'PAYLOAD_TOO_DEEP' });
  });

  it('B73: counts bytes of UTF-8 and not characters', () => {
    const fits = `"${'a'.repeat(1_048_574)}"`;
    expect(checkPayload(fits)).toEqual({ ok: true, bytes: 1_048_576 });
    expect(checkPayload(`"${'a'.repeat(1_048_575)}"`)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(checkPayload(`"${'é'.repeat(524_288)}"`)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(checkPayload('"abc"', 4)).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: expect.stringContaining('4'),
    });
  });
});

describe('utf8Length', () => {
  it.each(['', 'a', 'é', '€', '😀', 'a😀é€', '\ud800', '\udc00\ud800'])('agrees with the encoder on %j', (text) => {
    expect(utf8Length(text)).toBe(Buffer.byteLength(text));
  });
});

describe('parseJson', () => {
  it('keeps the place of every value, so that its text can be cut out byte for byte', () => {
    const text = ' { "a" : [ 1.50 , "x\\u0041" ] , "b" : null } ';
    const parsed = parseJson(text);
    if (!parsed.ok) throw new Error(parsed.fault.message);
    const { root } = parsed;
    expect(text.slice(root.start, root.end)).toBe('{ "a" : [ 1.50 , "x\\u0041" ] , "b" : null }');
    expect(findPath(root, ['a', 1])).toMatchObject({ kind: 'string', value: 'xA' });
    expect(findPath(root, ['b'])).toMatchObject({ kind: 'null' });
  });

  it('answers a fault with its place', () => {
    expect(parseJson('[1,')).toMatchObject({ ok: false, fault: { code: 'NOT_JSON', at: 3 } });
    expect(findJsonFault('[1]')).toBeUndefined();
  });
});

describe('sliceByPath', () => {
  const text = '{"n":9007199254740993,"neg":-0.10,"__proto__":{"x":1},"list":[[],{}],"dup":1,"dup":2,"":3}';

  it('B70: answers digits as they are', () => {
    expect(sliceByPath(text, ['n'])).toBe('9007199254740993');
    expect(sliceByPath(text, ['neg'])).toBe('-0.10');
  });

  it('B74, B93: finds own keys only, also __proto__, and nothing of any prototype', () => {
    expect(sliceByPath(text, ['__proto__', 'x'])).toBe('1');
    expect(sliceByPath(text, ['constructor', 'name'])).toBeUndefined();
    expect(sliceByPath(text, ['list', 'length'])).toBeUndefined();
    expect(sliceByPath('{}', ['__proto__'])).toBeUndefined();
  });

  it('tells keys from indexes, takes the last of two equal keys, and answers undefined for what is not JSON', () => {
    expect(sliceByPath(text, ['list', 1])).toBe('{}');
    expect(sliceByPath(text, ['list', '1'])).toBeUndefined();
    expect(sliceByPath(text, [0])).toBeUndefined();
    expect(sliceByPath(text, ['dup'])).toBe('2');
    expect(sliceByPath(text, [''])).toBe('3');
    expect(sliceByPath(text, ['n', 'x', 'y'])).toBeUndefined();
    expect(sliceByPath('{', [])).toBeUndefined();
  });
});

describe('canonicalJson', () => {
  it('is one text for all spellings of a value', () => {
    const one = '{"b":[1, {"d":"\\u0041","c":null}],"a":true}';
    const other = ' { "a":true,\n"b" : [1,{"c":null,"d":"A"}] }';
    expect(canonicalJson(one)).toBe('{"a":true,"b":[1,{"c":null,"d":"A"}]}');
    expect(canonicalJson(other)).toBe(canonicalJson(one));
  });

  it('keeps digits: what differs in a number differs', () => {
    expect(canonicalJson('9007199254740993')).not.toBe(canonicalJson('9007199254740992'));
    expect(canonicalJson('1.0')).toBe('1.0');
  });

  it('does not take a key that is given twice for one that is given once', () => {
    expect(canonicalJson('{"a":1,"a":2}')).not.toBe(canonicalJson('{"a":2}'));
    expect(canonicalJson('{"a":1,"a":2}')).not.toBe(canonicalJson('{"a":2,"a":1}'));
  });

  it('has empty containers, and returns what is not JSON as it is', () => {
    expect(canonicalJson('[ { } , [ ] ]')).toBe('[{},[]]');
    expect(canonicalJson('{"__proto__":1}')).toBe('{"__proto__":1}');
    expect(canonicalJson('not json')).toBe('not json');
  });
});

describe('jsonPointer', () => {
  it('escapes ~ and /', () => {
    expect(jsonPointer(['a/b', 0, 'c~d'])).toBe('/a~1b/0/c~0d');
    expect(jsonPointer([])).toBe('');
  });
});
