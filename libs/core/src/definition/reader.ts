import type { JsonMember, JsonNode } from '../json/parse.js';
import type { PathSegment } from '../json/path.js';
import { jsonPointer } from '../json/path.js';
import { parseDuration } from './duration.js';
import type { IssueList } from './issues.js';
import type { Template, TemplateCompiler } from './model.js';

export interface ReadContext {
  readonly text: string;
  readonly issues: IssueList;
  readonly templates: TemplateCompiler;
}

/** Bounds of a number; both ends are allowed. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Fields that the design has and this version has not: named, so that nobody looks for a typing error. */
export type NotAvailable = ReadonlyMap<string, string>;

/**
 * Reads the fields of one JSON object. Each read answers undefined for what is absent or wrong, and notes what is
 * wrong with its pointer: nothing is guessed and no default stands in for a mistake (B32). What was never read is
 * an unknown field.
 */
export class ObjectReader {
  private readonly members = new Map<string, JsonMember>();
  private readonly read = new Set<string>();

  private constructor(
    private readonly context: ReadContext,
    node: Extract<JsonNode, { kind: 'object' }>,
    readonly path: readonly PathSegment[],
  ) {
    for (const member of node.members) {
      if (this.members.has(member.key)) {
        context.issues.error('DUPLICATE_FIELD', [...path, member.key], `${member.key} is given twice`);
      }
      this.members.set(member.key, member);
    }
  }

  static of(context: ReadContext, node: JsonNode, path: readonly PathSegment[]): ObjectReader | undefined {
    if (node.kind === 'object') return new ObjectReader(context, node, path);
    context.issues.error('WRONG_TYPE', path, `expected an object, found ${describe(node)}`);
    return undefined;
  }

  has(key: string): boolean {
    return this.members.has(key);
  }

  pathOf(key: string): readonly PathSegment[] {
    return [...this.path, key];
  }

  node(key: string): JsonNode | undefined {
    this.read.add(key);
    return this.members.get(key)?.value;
  }

  required(key: string, what: string): JsonNode | undefined {
    const node = this.node(key);
    if (node === undefined) this.context.issues.error('MISSING_FIELD', this.path, `${key} is missing: ${what}`);
    return node;
  }

  string(key: string): string | undefined {
    return this.expectString(this.node(key), this.pathOf(key));
  }

  expectString(node: JsonNode | undefined, path: readonly PathSegment[]): string | undefined {
    if (node === undefined) return undefined;
    if (node.kind === 'string') return node.value;
    this.context.issues.error('WRONG_TYPE', path, `expected a string, found ${describe(node)}`);
    return undefined;
  }

  /** A string that must pass `test`. */
  name(key: string, test: (name: string) => boolean, rule: string): string | undefined {
    const value = this.string(key);
    if (value === undefined || test(value)) return value;
    this.context.issues.error(
      'INVALID_NAME',
      this.pathOf(key),
      `${JSON.stringify(value)} is not a valid name: ${rule}`,
    );
    return undefined;
  }

  oneOf<T extends string>(key: string, values: readonly T[]): T | undefined {
    const value = this.string(key);
    if (value === undefined) return undefined;
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) {
      this.context.issues.error('INVALID_VALUE', this.pathOf(key), `expected one of ${values.join(', ')}`);
    }
    return found;
  }

  integer(key: string, bounds: Bounds): number | undefined {
    return this.number(key, bounds, /^-?\d+$/, 'an integer');
  }

  decimal(key: string, bounds: Bounds): number | undefined {
    return this.number(key, bounds, /^/, 'a number');
  }

  private number(key: string, { min, max }: Bounds, form: RegExp, what: string): number | undefined {
    const node = this.node(key);
    if (node === undefined) return undefined;
    const raw = this.context.text.slice(node.start, node.end);
    if (node.kind !== 'number' || !form.test(raw)) {
      const found = node.kind === 'number' ? raw : describe(node);
      this.context.issues.error('WRONG_TYPE', this.pathOf(key), `expected ${what}, found ${found}`);
      return undefined;
    }
    const value = Number(raw);
    if (value >= min && value <= max) return value;
    this.context.issues.error('OUT_OF_RANGE', this.pathOf(key), `expected ${min} to ${max}, found ${raw}`);
    return undefined;
  }

  /** An ISO 8601 duration in milliseconds. */
  duration(key: string, minMs: number): number | undefined {
    const node = this.node(key);
    if (node === undefined) return undefined;
    const path = this.pathOf(key);
    if (node.kind !== 'string') {
      const message = `expected an ISO 8601 duration, such as "PT30S", found ${describe(node)}`;
      this.context.issues.error('WRONG_TYPE', path, message);
      return undefined;
    }
    const parsed = parseDuration(node.value);
    if (!parsed.ok) {
      this.context.issues.error(parsed.code, path, `${JSON.stringify(node.value)}: ${parsed.message}`);
      return undefined;
    }
    if (parsed.ms >= minMs) return parsed.ms;
    this.context.issues.error('OUT_OF_RANGE', path, `${JSON.stringify(node.value)}: shorter than ${minMs} ms`);
    return undefined;
  }

  object(key: string): ObjectReader | undefined {
    const node = this.node(key);
    return node === undefined ? undefined : ObjectReader.of(this.context, node, this.pathOf(key));
  }

  items(key: string): readonly JsonNode[] | undefined {
    const node = this.node(key);
    if (node === undefined || node.kind === 'array') return node?.items;
    this.context.issues.error('WRONG_TYPE', this.pathOf(key), `expected an array, found ${describe(node)}`);
    return undefined;
  }

  strings(key: string): string[] | undefined {
    const items = this.items(key);
    if (items === undefined) return undefined;
    const strings: string[] = [];
    items.forEach((item, index) => {
      const value = this.expectString(item, [...this.path, key, index]);
      if (value !== undefined) strings.push(value);
    });
    return strings;
  }

  /** A JSON value with `${...}` in its strings. */
  template(key: string): Template | undefined {
    const node = this.node(key);
    if (node === undefined) return undefined;
    const compiled = this.context.templates.compile(this.context.text.slice(node.start, node.end));
    const [severity, findings] = compiled.ok
      ? (['warning', compiled.warnings] as const)
      : (['error', compiled.issues] as const);
    for (const { code, pointer, message } of findings) {
      this.context.issues.add(severity, code, jsonPointer(this.pathOf(key)) + pointer, message);
    }
    return compiled.ok ? compiled.template : undefined;
  }

  /** Last of all: what was never asked for does not exist. */
  refuseOthers(notAvailable: NotAvailable = NOTHING): void {
    for (const key of this.members.keys()) {
      if (this.read.has(key)) continue;
      const missing = notAvailable.get(key);
      if (missing !== undefined) this.context.issues.error('NOT_AVAILABLE', this.pathOf(key), missing);
      else
        this.context.issues.error('UNKNOWN_FIELD', this.pathOf(key), `there is no field ${JSON.stringify(key)} here`);
    }
  }
}

const NOTHING: NotAvailable = new Map();

function describe(node: JsonNode): string {
  switch (node.kind) {
    case 'object':
      return 'an object';
    case 'array':
      return 'an array';
    case 'string':
      return 'a string';
    case 'number':
      return 'a number';
    default:
      return node.kind;
  }
}
