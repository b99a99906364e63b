import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bind, parseStatement, statement, statementNames, type Statement } from './statements.js';

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

describe('statements made for one row', () => {
  it.each(['write-batch-of-one', 'acquire-leases-of-one', 'renew-leases-of-one'])('%s', (name) => {
    const many = statement(name.replace(/-of-one$/, ''));
    const one = statement(name);
    expect(one.parameters.map((parameter) => parameter.name)).toEqual(many.parameters.map(({ name: same }) => same));
    const scalars = new Set(one.parameters.filter(({ type }) => !type.endsWith('[]')).map(({ group }) => group));
    const arrays = new Set(one.parameters.filter(({ type }) => type.endsWith('[]')).map(({ group }) => group));
    expect([...scalars].filter((group) => arrays.has(group))).toEqual([]);
    expect(scalars.size).toBeGreaterThan(0);
    expect(one.text.replaceAll(' NOT MATERIALIZED', ' MATERIALIZED').replace(/unnest\(([^)]*)\[\]\)/g, '$1')).toBe(
      many.text.replace(/unnest\(([^)]*)\[\]\)/g, '$1'),
    );
  });
});

/** Who may look at runs of any namespace, and why. */
const OF_ANY_NAMESPACE: Readonly<Record<string, string>> = {
  'probe-runs': 'asks whether an id is free, is always rolled back, and shows nothing',
  'read-run-owners': 'a run id that a caller chose must not exist at all; the caller hears no more than that',
  'delete-keys': 'only keys that this transaction has inserted, told apart by their namespace',
};

describe('every statement', () => {
  const all = statementNames().map((name) => statement(name));

  it('R28: compares the namespace wherever it is told a run', () => {
    const toldARun = all.filter(({ parameters }) => parameters.some(({ column }) => /^runIds?$/.test(column)));
    expect(toldARun.length).toBeGreaterThan(20);
    const findings = toldARun
      .filter(({ name }) => OF_ANY_NAMESPACE[name] === undefined)
      .flatMap(({ name, text, parameters }) => {
        const groups = new Set(parameters.filter(({ column }) => column === 'runId').map(({ group }) => group));
        const without = [...groups].filter((group) => !hasNamespace(name, group, parameters));
        const compared =
          /\bnamespace = (?:ANY \(ARRAY\[)?(?:\w+\.namespace|\$\d+|r_namespace)/.test(whole(text)) || isInsert(name);
        return [
          ...without.map((group) => `${name}: ${group ?? 'the run'} comes without its namespace`),
          ...(compared ? [] : [`${name}: the namespace is not compared`]),
        ];
      });
    expect(findings).toEqual([]);
  });

  it('R27: goes by the clock that tests can move, and by no other', () => {
    const clocks =
      /(?<!baton\.)\bnow\(\)|clock_timestamp|current_timestamp|current_date|localtime|statement_timestamp|transaction_timestamp/i;
    expect(all.filter(({ text }) => clocks.test(text)).map(({ name }) => name)).toEqual([]);
    expect(all.filter(({ text }) => text.includes('baton.now()')).length).toBeGreaterThan(10);
  });
});

/** Effects of a write belong to its runs, whose namespace the statement has compared (`held`). */
function hasNamespace(name: string, group: string | null, parameters: Statement['parameters']): boolean {
  const effects = ['newTasks', 'tasks', 'journal', 'outbox', 'newSignals', 'signals', 'newTimers', 'clearTimers'];
  const isEffect =
    /^write-batch|^insert-starts/.test(name) && [...effects, 'commands', 'payloads'].includes(group ?? '');
  return isEffect || parameters.some((other) => other.group === group && other.column === 'namespace');
}

/** Rows that are made with their namespace have nothing to compare it with. */
function isInsert(name: string): boolean {
  return /^insert-|^write-start$/.test(name);
}

const FUNCTIONS = readFileSync(join(__dirname, '../../../migrations/sql/0003-single-writes.sql'), 'utf8');

/** A statement that calls one of these functions does what is written there. */
function whole(text: string): string {
  const called = /^SELECT baton\.(write_\w+)\(/.exec(text)?.[1];
  if (called === undefined) return text;
  const start = FUNCTIONS.indexOf(`CREATE FUNCTION baton.${called}(`);
  expect(start).toBeGreaterThan(0);
  return FUNCTIONS.slice(start, FUNCTIONS.indexOf('END $$;', start));
}
