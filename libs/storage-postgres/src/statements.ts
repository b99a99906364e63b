import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QueryArrayConfig } from 'pg';
import { encoderOf } from './parameters.js';

/**
 * One file, one statement, one name. A parameter is written `:group.name::type`; the loader numbers them, and the
 * type decides how the value is sent. The folder lies beside `dist`, so that both builds read the same files.
 */
const SQL_FOLDER = join(__dirname, '..', 'src', 'sql');

const INCLUDE = /^-- include (\S+)$/gm;
const PARAMETER = /(?<!:):([a-z][A-Za-z0-9]*(?:\.[a-z][A-Za-z0-9]*)?)::([a-z]+(?:\[\])?)/g;

export interface Parameter {
  /** `group.column`, or `column` alone. */
  readonly name: string;
  readonly type: string;
  readonly group: string | null;
  readonly column: string;
  readonly encode: (value: unknown) => unknown;
}

export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

/** Values by name; those of a group in an object of their own: `{ batchId, runs: { runId: [...] } }`. */
export interface StatementValues {
  readonly [name: string]: unknown;
}

const loaded = new Map<string, Statement>();

export function statement(name: string): Statement {
  let found = loaded.get(name);
  if (found === undefined) {
    found = parseStatement(name, readSql(`${name}.sql`));
    loaded.set(name, found);
  }
  return found;
}

/** Every statement there is, for the tests that look at all of them (R36). */
export function statementNames(): readonly string[] {
  return readdirSync(SQL_FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort();
}

export function parseStatement(name: string, source: string): Statement {
  const parameters: Parameter[] = [];
  const text = source
    .replace(INCLUDE, (_line, file: string) => readSql(file))
    .replace(/^\s*--.*\n/gm, '')
    .replace(PARAMETER, (_match, parameter: string, type: string) => {
      let index = parameters.findIndex((known) => known.name === parameter && known.type === type);
      if (index < 0) index = parameters.push(parameterOf(parameter, type)) - 1;
      return `$${index + 1}::${type}`;
    });
  return { name, text, parameters };
}

function parameterOf(name: string, type: string): Parameter {
  const [first = '', second] = name.split('.');
  const group = second === undefined ? null : first;
  return { name, type, group, column: second ?? first, encode: encoderOf(type) };
}

/** Named, so that it is parsed and planned once a connection; rows come as arrays, decoded at the edge. */
export function bind(source: Statement, values: StatementValues): QueryArrayConfig {
  const { name, text } = source;
  return {
    name,
    text,
    rowMode: 'array',
    values: source.parameters.map((parameter) => encode(source, parameter, values)),
  };
}

function encode(source: Statement, parameter: Parameter, values: StatementValues): unknown {
  const group = parameter.group === null ? values : values[parameter.group];
  const value = isRecord(group) ? group[parameter.column] : undefined;
  if (value === undefined) throw new Error(`Statement ${source.name} needs a value for ${parameter.name}`);
  return parameter.encode(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function readSql(file: string): string {
  return readFileSync(join(SQL_FOLDER, file), 'utf8').trimEnd();
}
