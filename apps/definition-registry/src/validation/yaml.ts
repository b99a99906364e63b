import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, type Scalar } from 'yaml';
import type { DefinitionIssue } from '@baton/core';

export type YamlConversion =
  { readonly ok: true; readonly json: string } | { readonly ok: false; readonly issues: readonly DefinitionIssue[] };

/** Aliases may multiply a small text into a huge one. */
const MAX_NODES = 200_000;
/** A definition may have no more; what its aliases expand to is never held in memory beyond that. */
const MAX_CHARS = 3_500_000;
const MAX_DEPTH = 100;

/**
 * YAML 1.2 to JSON text: numbers keep their digits as they were written (B70), keys stay in order, aliases are
 * written out. One document, no tags beyond the JSON types.
 */
export function yamlToJson(text: string): YamlConversion {
  try {
    return convert(text);
  } catch (caught) {
    if (caught instanceof YamlProblem) return fail(caught.message);
    // The parser calls itself for each level.
    if (caught instanceof RangeError) return fail(`nested deeper than ${MAX_DEPTH} levels`);
    throw caught;
  }
}

function convert(text: string): YamlConversion {
  const lines = new LineCounter();
  // Keys are compared by the writer: the parser compares each with all before it.
  const documents = parseAllDocuments(text, { version: '1.2', schema: 'core', lineCounter: lines, uniqueKeys: false });
  const document = documents[0];
  if (document === undefined || document.contents === null) return fail('the definition is empty');
  if (documents.length > 1) return fail('one definition for each publication; found several YAML documents');
  const [error] = document.errors;
  if (error !== undefined) return fail(error.message.split('\n', 1)[0]?.trim() ?? 'malformed YAML');
  return { ok: true, json: new Writer().write(document.contents, 0) };
}

function fail(message: string): YamlConversion {
  return { ok: false, issues: [{ severity: 'error', code: 'MALFORMED_YAML', message, pointer: '' }] };
}

class YamlProblem extends Error {}

class Writer {
  private nodes = 0;
  private chars = 0;
  /** Nodes by anchor, as far as the text has been read: an alias means the last one before it. */
  private readonly anchors = new Map<string, Node>();

  write(node: Node | null, depth: number): string {
    this.nodes += 1;
    if (this.nodes > MAX_NODES) throw new YamlProblem('the aliases expand to too many nodes');
    if (depth > MAX_DEPTH) throw new YamlProblem(`nested deeper than ${MAX_DEPTH} levels`);
    if (node === null) return 'null';
    if (isAlias(node)) return this.alias(node.source, depth);
    if (node.anchor !== undefined) this.anchors.set(node.anchor, node);
    if (isSeq(node)) return `[${node.items.map((item) => this.write(item as Node | null, depth + 1)).join(',')}]`;
    if (isMap(node)) return this.map(node.items, depth);
    if (isScalar(node)) return this.counted(scalar(node));
    throw new YamlProblem('a YAML node that JSON does not have');
  }

  private alias(name: string, depth: number): string {
    const target = this.anchors.get(name);
    if (target === undefined) throw new YamlProblem(`the alias *${name} has no anchor before it`);
    return this.write(target, depth + 1);
  }

  private counted(text: string): string {
    this.chars += text.length;
    if (this.chars > MAX_CHARS)
      throw new YamlProblem(`it has more than ${MAX_CHARS} characters with its aliases expanded`);
    return text;
  }

  private map(items: readonly unknown[], depth: number): string {
    const names = new Set<string>();
    const members = items.map((item) => {
      if (!isPair(item) || !isScalar(item.key)) throw new YamlProblem('a key must be a plain text');
      const key = item.key.value;
      if (key === '<<') throw new YamlProblem('merge keys (<<) are not part of YAML 1.2');
      const name = typeof key === 'string' ? key : (item.key.source ?? String(key));
      if (names.has(name)) throw new YamlProblem(`the key ${JSON.stringify(name)} occurs more than once in a map`);
      names.add(name);
      return `${this.counted(JSON.stringify(name))}:${this.write(item.value as Node | null, depth + 1)}`;
    });
    return `{${members.join(',')}}`;
  }
}

const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

function scalar(node: Scalar): string {
  const { value, source } = node;
  switch (typeof value) {
    case 'number':
    case 'bigint':
      if (source !== undefined && JSON_NUMBER.test(source)) return source;
      if (typeof value === 'number' && !Number.isFinite(value))
        throw new YamlProblem(`${source ?? value} is no JSON number`);
      if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
        throw new YamlProblem(`write the number ${source ?? value} in decimal digits`);
      }
      return String(value);
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    default:
      if (value === null) return 'null';
      throw new YamlProblem('a value that JSON does not have');
  }
}
