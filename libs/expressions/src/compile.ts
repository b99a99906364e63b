import {
  jsonPointer,
  parseJson,
  type JsonNode,
  type PathSegment,
  type TemplateCompilation,
  type TemplateCompiler,
  type TemplateIssue,
} from '@baton/core';
import { CompiledTemplate, type Part } from './template.js';
import { looksLikeExpression, parseText, type TextPart } from './text.js';

/** No template holds more; documented. */
const MAX_EXPRESSIONS = 1_000;

/** Compiles JSON templates with `${...}` in their strings. One pass, over the definition only: data is never looked at. */
export const templateCompiler: TemplateCompiler = { compile: compileTemplate };

export function compileTemplate(source: string): TemplateCompilation {
  const parsed = parseJson(source);
  if (!parsed.ok) {
    return { ok: false, issues: [{ code: 'NOT_JSON', message: parsed.fault.message, pointer: '' }] };
  }
  const compilation = new Compilation(source);
  compilation.value(parsed.root, []);
  return compilation.result();
}

class Compilation {
  private readonly parts: Part[] = [];
  private readonly issues: TemplateIssue[] = [];
  private readonly warnings: TemplateIssue[] = [];
  private readonly references = new Map<string, string>();
  private expressions = 0;
  private usesInput = false;

  constructor(private readonly source: string) {}

  result(): TemplateCompilation {
    if (this.expressions > MAX_EXPRESSIONS) {
      const message = `${this.expressions} expressions, at most ${MAX_EXPRESSIONS}`;
      this.issues.push({ code: 'TOO_MANY_EXPRESSIONS', message, pointer: '' });
    }
    if (this.issues.length > 0) return { ok: false, issues: this.issues };
    const references = [...this.references].map(([nodeId, pointer]) => ({ nodeId, pointer }));
    const template = new CompiledTemplate(this.parts, this.usesInput, references);
    return { ok: true, template, warnings: this.warnings };
  }

  /** Recursion is bounded by the depth that the parser allows. White space between tokens is dropped. */
  value(node: JsonNode, path: readonly PathSegment[]): void {
    switch (node.kind) {
      case 'object':
        this.raw('{');
        node.members.forEach((member, index) => {
          const memberPath = [...path, member.key];
          if (member.key.includes('${')) this.warn(member.key, memberPath, 'a key is never an expression');
          this.raw(`${index === 0 ? '' : ','}${this.source.slice(member.keyStart, member.keyEnd)}:`);
          this.value(member.value, memberPath);
        });
        this.raw('}');
        return;
      case 'array':
        this.raw('[');
        node.items.forEach((item, index) => {
          if (index > 0) this.raw(',');
          this.value(item, [...path, index]);
        });
        this.raw(']');
        return;
      case 'string':
        this.text(node, path);
        return;
      default:
        this.raw(this.source.slice(node.start, node.end)); // B70: digits stay digits
    }
  }

  private text(node: Extract<JsonNode, { kind: 'string' }>, path: readonly PathSegment[]): void {
    const parsed = parseText(node.value);
    if (!parsed.ok) {
      this.issues.push({ code: parsed.code, message: parsed.message, pointer: jsonPointer(path) });
      return;
    }
    for (const part of parsed.parts) if ('expression' in part) this.note(part, path);
    const [only, ...others] = parsed.parts;
    if (only !== undefined && 'expression' in only && others.length === 0) {
      this.parts.push({ kind: 'value', expression: only.expression });
      return;
    }
    if (looksLikeExpression(node.value)) this.warn(node.value, path, 'it is plain text: write ${...}');
    this.raw('"');
    for (const part of parsed.parts) {
      if ('text' in part) this.raw(JSON.stringify(part.text).slice(1, -1));
      else this.parts.push({ kind: 'text', expression: part.expression });
    }
    this.raw('"');
  }

  private note({ expression }: Extract<TextPart, { expression: unknown }>, path: readonly PathSegment[]): void {
    this.expressions += 1;
    if (expression.root === 'input') this.usesInput = true;
    if (expression.root === 'output' && !this.references.has(expression.nodeId)) {
      this.references.set(expression.nodeId, jsonPointer(path));
    }
  }

  private warn(text: string, path: readonly PathSegment[], why: string): void {
    const message = `${JSON.stringify(text)} looks like an expression, but ${why}`;
    this.warnings.push({ code: 'LOOKS_LIKE_EXPRESSION', message, pointer: jsonPointer(path) });
  }

  private raw(text: string): void {
    const last = this.parts.at(-1);
    if (last?.kind === 'raw') this.parts[this.parts.length - 1] = { kind: 'raw', text: last.text + text };
    else this.parts.push({ kind: 'raw', text });
  }
}
