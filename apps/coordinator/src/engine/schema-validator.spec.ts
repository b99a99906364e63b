import { SchemaValidator } from './schema-validator.js';

const schema = JSON.stringify({
  type: 'object',
  required: ['orderId', 'count'],
  properties: { orderId: { type: 'string', format: 'uuid' }, count: { type: 'integer', minimum: 1 } },
});

describe('the check of an input against a JSON Schema', () => {
  const validator = new SchemaValidator();

  it('passes what fits', () => {
    const value = '{"orderId":"01920000-0000-7000-8000-000000000001","count":1,"more":true}';
    expect(validator.validate(schema, value)).toEqual([]);
  });

  it('names everything that is wrong, with pointers', () => {
    expect(validator.validate(schema, '{"orderId":"x"}')).toEqual([
      { pointer: '/count', code: 'REQUIRED', message: "must have required property 'count'" },
      { pointer: '/orderId', code: 'FORMAT', message: 'must match format "uuid"' },
    ]);
  });

  it('names the first problem alone of a large input', () => {
    const value = JSON.stringify({ orderId: 'x', count: 'y'.repeat(100_000) });
    expect(validator.validate(schema, value)).toHaveLength(1);
  });

  it.each([
    ['a remote reference', '{"$ref":"https://example.com/schema.json"}'],
    ['an unknown keyword', '{"typ":"object"}'],
    ['text that is not JSON', '{'],
    ['an answer that is a promise', '{"$async":true,"type":"string"}'],
    ['a reference to itself', '{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}'],
  ])('refuses a schema with %s, and loads nothing (B126)', (_what, bad) => {
    expect(validator.validate(bad, '{}')).toMatchObject([{ code: 'SCHEMA_INVALID' }]);
  });

  it.each([
    ['a pattern', '{"type":"string","p\\u0061ttern":"^(a+)+$"}', JSON.stringify(`${'a'.repeat(60)}!`)],
    ['a list of unique things', '{"type":"array","uniqueItems":true}', JSON.stringify(manyObjects(30_000))],
    ['references that double', JSON.stringify(doubling(40)), '1'],
  ])('gives up a check that would stop the process: %s (I14)', (_what, slow, value) => {
    expect(validator.validate(slow, value)).toMatchObject([{ code: 'SCHEMA_TOO_SLOW' }]);
    expect(validator.validate(schema, '{"orderId":"x","count":1}')).toMatchObject([{ code: 'FORMAT' }]);
  });

  it('refuses a schema that is too large', () => {
    const bad = JSON.stringify({ description: 'x'.repeat(70_000) });
    expect(validator.validate(bad, '{}')).toMatchObject([{ code: 'SCHEMA_TOO_LARGE' }]);
  });

  it('takes two schemas with the same $id', () => {
    const one = '{"$id":"https://example.com/order","type":"string"}';
    const two = '{"$id":"https://example.com/order","type":"number"}';
    expect(validator.validate(one, '"a"')).toEqual([]);
    expect(validator.validate(two, '1')).toEqual([]);
    expect(validator.validate(two, '"a"')).toHaveLength(1);
  });
});

function manyObjects(count: number): readonly object[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

/** Each level is checked twice by the one above it. */
function doubling(levels: number): object {
  const $defs = Object.fromEntries(
    Array.from({ length: levels }, (_, level) => {
      const below = level === 0 ? { type: 'number' } : { $ref: `#/$defs/d${level - 1}` };
      return [`d${level}`, { allOf: [below, below] }];
    }),
  );
  return { $defs, $ref: `#/$defs/d${levels - 1}` };
}
