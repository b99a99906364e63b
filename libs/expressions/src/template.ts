import {
  findPath,
  MAX_PAYLOAD_BYTES,
  parseJson,
  utf8Length,
  type JsonNode,
  type Template,
  type TemplateResult,
  type TemplateScope,
} from '@baton/core';
import type { Expression } from './expression.js';

/** Raw JSON text, or an expression in the place of a value or within a string. */
export type Part =
  | { readonly kind: 'raw'; readonly text: string }
  | { readonly kind: 'value' | 'text'; readonly expression: Expression };

type Failed = Extract<TemplateResult, { ok: false }>;

/** A template ready to be rendered: JSON text in, JSON text out. Values are spliced as the bytes that they came in. */
export class CompiledTemplate implements Template {
  readonly nodes: readonly string[];

  constructor(
    private readonly parts: readonly Part[],
    readonly usesInput: boolean,
    readonly references: Template['references'],
  ) {
    this.nodes = references.map((reference) => reference.nodeId);
  }

  render(scope: TemplateScope): TemplateResult {
    const values = new ScopeReader(scope);
    const out: string[] = [];
    let units = 0;
    for (const part of this.parts) {
      const text = part.kind === 'raw' ? part.text : values.read(part.expression, part.kind);
      if (typeof text !== 'string') return text;
      out.push(text);
      units += text.length;
      if (units > MAX_PAYLOAD_BYTES) return TOO_LARGE;
    }
    const text = out.join('');
    // Only a text near the limit is counted byte by byte.
    return units * 3 > MAX_PAYLOAD_BYTES && utf8Length(text) > MAX_PAYLOAD_BYTES ? TOO_LARGE : { ok: true, text };
  }
}

const TOO_LARGE: Failed = {
  ok: false,
  code: 'TOO_LARGE',
  message: `the rendered value is larger than ${MAX_PAYLOAD_BYTES} bytes`,
};

/** Reads values of one scope; each source is parsed once for all expressions of a template. */
class ScopeReader {
  private readonly sources = new Map<string, { readonly text: string; readonly root: JsonNode } | undefined>();

  constructor(private readonly scope: TemplateScope) {}

  read(expression: Expression, as: 'value' | 'text'): string | Failed {
    if (expression.root === 'run') return this.runField(expression.field, as);
    const whole = as === 'value' && expression.path.length === 0 ? this.text(expression) : undefined;
    if (whole !== undefined) return whole; // a large payload passes through without being parsed
    const name = expression.root === 'input' ? 'input' : `nodes.${expression.nodeId}.output`;
    const source = this.source(expression);
    const node = source === undefined ? undefined : findPath(source.root, expression.path);
    if (source === undefined || node === undefined) {
      const steps = expression.path.map((segment) => `[${JSON.stringify(segment)}]`).join('');
      return { ok: false, code: 'PATH_NOT_FOUND', message: `there is no ${name}${steps}` };
    }
    const raw = source.text.slice(node.start, node.end);
    if (as === 'value') return raw;
    switch (node.kind) {
      case 'object':
      case 'array':
        return { ok: false, code: 'NOT_A_SCALAR', message: `${name}: an ${node.kind} cannot be part of a text` };
      case 'string':
        return raw.slice(1, -1); // already escaped as within a JSON string
      default:
        return raw;
    }
  }

  private runField(field: 'id' | 'definition' | 'version', as: 'value' | 'text'): string {
    const quoted = JSON.stringify(this.scope.run[field]);
    return as === 'value' || field === 'version' ? quoted : quoted.slice(1, -1);
  }

  private source(expression: Exclude<Expression, { root: 'run' }>): { text: string; root: JsonNode } | undefined {
    const key = expression.root === 'input' ? 'input' : `output ${expression.nodeId}`;
    if (this.sources.has(key)) return this.sources.get(key);
    const text = this.text(expression);
    const parsed = text === undefined ? undefined : parseJson(text);
    const source = text !== undefined && parsed?.ok === true ? { text, root: parsed.root } : undefined;
    this.sources.set(key, source);
    return source;
  }
  private text(expression: Exclude<Expression, { root: 'run' }>): string | undefined {
    // A run without input has the input null, as JSON says it.
    return expression.root === 'input' ? (this.scope.input ?? 'null') : this.scope.output(expression.nodeId);
  }
}
