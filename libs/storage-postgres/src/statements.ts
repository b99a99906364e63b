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

interface OfOne {
  readonly of: string;
  /** Groups of parameters that hold one row at most. */
  readonly groups: readonly string[];
}

/**
 * Statements made of another one, for calls that have no more than one row in some groups of parameters: those go as
 * scalars instead of arrays. PostgreSQL starts such a plan in two thirds of the time, and leaves out partitions before
 * it starts (ADR 0001).
 */
const OF_ONE: Readonly<Record<string, OfOne>> = {
  'write-batch-of-one': { of: 'write-batch', groups: ['runs', 'tasks', 'newTasks'] },
  'acquire-leases-of-one': { of: 'acquire-leases', groups: ['calls'] },
  'renew-leases-of-one': { of: 'renew-leases', groups: ['calls'] },
};

const loaded = new Map<string, Statement>();

export function statement(name: string): Statement {
  let found = loaded.get(name);
  if (found === undefined) {
    const ofOne = OF_ONE[name];
    const source =
      ofOne === undefined ? readSql(`${name}.sql`) : scalarsInstead(whole(readSql(`${ofOne.of}.sql`)), ofOne.groups);
    found = parseStatement(name, source);
    loaded.set(name, found);
  }
  return found;
}

/** Rows that are scalars need no set to be kept: inlined, their values are known when the plan starts. */
function scalarsInstead(source: string, groups: readonly string[]): string {
  const group = `:(?:${groups.join('|')})\\.`;
  return source
    .replace(new RegExp(`MATERIALIZED(?= \\(\\s*SELECT\\s+unnest\\(${group})`, 'g'), 'NOT MATERIALIZED')
    .replace(new RegExp(`unnest\\((${group}[A-Za-z]+::[a-z]+)\\[\\]\\)`, 'g'), '$1');
}

/** The first row of each group: what a statement made for one row takes. */
export function firstRow(columns: Readonly<Record<string, readonly unknown[]>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[0] ?? null]));
}

/** Every statement there is, for the tests that look at all of them (R36). */
export function statementNames(): readonly string[] {
  const files = readdirSync(SQL_FOLDER).filter((file) => file.endsWith('.sql'));
  return [...files.map((file) => file.slice(0, -'.sql'.length)), ...Object.keys(OF_ONE)].sort();
}

export function parseStatement(name: string, source: string): Statement {
  const parameters: Parameter[] = [];
  const text = whole(source)
    .replace(/^\s*--.*\n/gm, '')
    .replace(PARAMETER, (_match, parameter: string, type: string) => {
      let index = parameters.findIndex((known) => known.name === parameter && known.type === type);
      if (index < 0) index = parameters.push(parameterOf(parameter, type)) - 1;
      return `$${index + 1}::${type}`;
    });
  return { name, text, parameters };
}

function whole(source: string): string {
  return source.replace(INCLUDE, (_line, file: string) => readSql(file));
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
