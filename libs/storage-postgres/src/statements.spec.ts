import { bind, parseStatement, statement, statementNames } from './statements.js';

describe('statements', () => {
  it('number their parameters by first use, and send one value for two uses', () => {
    const parsed = parseStatement('x', `SELECT :a::text, :rows.b::uuid[], :a::text, 'c'::text, d::int FROM e`);
    expect(parsed.text).toBe(`SELECT $1::text, $2::uuid[], $1::text, 'c'::text, d::int FROM e`);
    expect(bind(parsed, { a: 'one', rows: { b: [] } }).values).toEqual(['one', expect.any(Buffer)]);
  });

  it('refuse to run without a value, rather than send NULL', () => {
    const parsed = parseStatement('x', 'SELECT :rows.b::text');
    expect(() => bind(parsed, { rows: {} })).toThrow('Statement x needs a value for rows.b');
    expect(() => bind(parsed, {})).toThrow('Statement x needs a value for rows.b');
  });

  it('leave comments and include lines behind', () => {
    for (const name of statementNames()) {
      expect(statement(name).text).not.toMatch(/^\s*--/m);
      expect(statement(name).text).not.toContain(':runs.');
    }
  });
});
