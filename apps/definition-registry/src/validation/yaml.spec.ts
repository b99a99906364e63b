import { yamlToJson } from './yaml.js';

describe('YAML that becomes JSON', () => {
  it('keeps digits, order and aliases', () => {
    expect(yamlToJson('b: &x 12345678901234567890\na: [*x, 1.50]\n')).toEqual({
      ok: true,
      json: '{"b":12345678901234567890,"a":[12345678901234567890,1.50]}',
    });
  });

  it.each([
    ['a key that occurs twice', 'a: 1\nb: 2\na: 3\n', /"a" occurs more than once/],
    ['two spellings of one key', 'a: 1\n"a": 2\n', /"a" occurs more than once/],
    ['aliases that multiply one long text', `a: &x ${'y'.repeat(200_000)}\nb: [${'*x, '.repeat(100_000)}]`, /aliases/],
    ['aliases that multiply one long key', multipliedKeys(), /aliases/],
    ['a text that is nested without end', '['.repeat(100_000), /nested deeper/],
    ['aliases that multiply each other', doubled(40), /too many nodes/],
  ])('refuses %s', (_what, text, message) => {
    const converted = yamlToJson(text);
    expect(converted).toMatchObject({ ok: false, issues: [{ code: 'MALFORMED_YAML' }] });
    expect(converted.ok ? '' : converted.issues[0]?.message).toMatch(message);
  });

  it('reads a map of many keys in a moment', () => {
    const text = Array.from({ length: 50_000 }, (_, n) => `k${n}: 1`).join('\n');
    const startedAt = performance.now();
    expect(yamlToJson(text).ok).toBe(true);
    // Each compared with all before it took a minute.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

function multipliedKeys(): string {
  return `a: &x { ${'y'.repeat(1_000)}: 1 }\nb: [${'*x, '.repeat(50_000)}]`;
}

function doubled(levels: number): string {
  const lines = Array.from({ length: levels }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`);
  return ['a0: &a0 1', ...lines].join('\n');
}
