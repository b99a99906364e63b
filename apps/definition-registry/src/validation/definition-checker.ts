import { createHash } from 'node:crypto';
import { canonicalJson, type Dag, type DefinitionIssue, parseDefinition, type TemplateCompiler } from '@baton/core';
import { checkInputSchema } from './input-schema.js';
import { yamlToJson } from './yaml.js';

export interface CheckedDefinition {
  readonly dag: Dag;
  /** JSON text as it is stored. */
  readonly spec: string;
  readonly contentHash: string;
}

export interface DefinitionCheck {
  /** undefined = there are errors among the issues. */
  readonly definition: CheckedDefinition | undefined;
  readonly issues: readonly DefinitionIssue[];
}

/** YAML is for people; large definitions are made by programs, and JSON is ten times as fast to read. */
const MAX_YAML_BYTES = 1_048_576;

/** Everything that is wrong with a definition, at once. */
export class DefinitionChecker {
  constructor(private readonly templates: TemplateCompiler) {}

  check(text: string): DefinitionCheck {
    const source = toJson(text);
    if (!source.ok) return { definition: undefined, issues: source.issues };
    const parsed = parseDefinition(source.json, this.templates);
    if (!parsed.ok) return { definition: undefined, issues: parsed.issues };
    const { dag, warnings } = parsed;
    const schemaIssues = dag.spec.inputSchema === null ? [] : checkInputSchema(dag.spec.inputSchema);
    const issues = [...schemaIssues, ...warnings];
    if (schemaIssues.length > 0) return { definition: undefined, issues };
    return { definition: { dag, spec: source.json, contentHash: hashOf(source.json) }, issues };
  }
}

type JsonSource =
  { readonly ok: true; readonly json: string } | { readonly ok: false; readonly issues: readonly DefinitionIssue[] };

/** A text that begins like a JSON object is JSON; everything else is YAML. */
function toJson(text: string): JsonSource {
  if (text.trim() === '') return refuse('EMPTY', 'the definition is empty');
  if (/^\s*\{/.test(text)) return { ok: true, json: text };
  if (Buffer.byteLength(text) > MAX_YAML_BYTES) {
    return refuse('TOO_LARGE', `the YAML text is larger than ${MAX_YAML_BYTES} bytes; larger definitions come as JSON`);
  }
  return yamlToJson(text);
}

function refuse(code: string, message: string): JsonSource {
  return { ok: false, issues: [{ severity: 'error', code, message, pointer: '' }] };
}

function hashOf(json: string): string {
  return createHash('sha256').update(canonicalJson(json)).digest('hex');
}
