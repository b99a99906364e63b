import type { JsonNode } from '../json/parse.js';
import { parseJson } from '../json/parse.js';
import type { JsonFault } from '../json/scan.js';
import { utf8Length } from '../json/utf8.js';
import { checkGraph } from './check-graph.js';
import { buildDag } from './graph.js';
import { IssueList, type IssueCode } from './issues.js';
import { isDefinitionId } from './names.js';
import { readNode, type ReadNode } from './read-node.js';
import { ObjectReader, type NotAvailable, type ReadContext } from './reader.js';
import type { DefinitionSpec, NodeSpec, ParsedDefinition, TemplateCompiler } from './model.js';

/** Limits of a definition; documented. */
export const MAX_DEFINITION_BYTES = 3_500_000;
export const MAX_NODES = 10_000;
export const MAX_EDGES = 100_000;

const MAX_VERSION = 2_147_483_647;

const FIELDS_NOT_AVAILABLE: NotAvailable = new Map([['searchAttributes', 'search attributes are not available yet']]);

/** Parses and checks the JSON text of a definition. All findings at once, each with a JSON pointer and a stable code. */
export function parseDefinition(text: string, templates: TemplateCompiler): ParsedDefinition {
  const issues = new IssueList();
  const root = readRoot(text, issues);
  const read = root === undefined ? undefined : readDefinition({ text, issues, templates }, root);
  if (issues.errors.length > 0 || read === undefined)
    return { ok: false, issues: [...issues.errors, ...issues.warnings] };
  return { ok: true, dag: buildDag(read.spec, read.version), warnings: issues.warnings };
}

function readRoot(text: string, issues: IssueList): JsonNode | undefined {
  if (text.length > MAX_DEFINITION_BYTES || utf8Length(text) > MAX_DEFINITION_BYTES) {
    issues.error('TOO_LARGE', [], `the definition is larger than ${MAX_DEFINITION_BYTES} bytes`);
    return undefined;
  }
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.root;
  issues.error(FAULT_CODES[parsed.fault.code], [], `${parsed.fault.message} (at character ${parsed.fault.at})`);
  return undefined;
}

const FAULT_CODES = {
  NOT_JSON: 'NOT_JSON',
  TOO_DEEP: 'TOO_DEEP',
  NUL: 'NOT_JSON',
  SURROGATE: 'NOT_JSON',
} as const satisfies Record<JsonFault['code'], IssueCode>;

interface ReadSpec {
  readonly spec: DefinitionSpec;
  readonly version: number;
}

function readDefinition(context: ReadContext, root: JsonNode): ReadSpec | undefined {
  const reader = ObjectReader.of(context, root, []);
  if (reader === undefined) return undefined;
  reader.required('id', 'the name of the definition');
  const id = reader.name('id', isDefinitionId, 'lower-case letters, digits, "_" and "-", at most 63');
  reader.required('version', 'an integer, 1 or more');
  const version = reader.integer('version', { min: 1, max: MAX_VERSION });
  reader.string('title');
  reader.string('description');
  const settings = {
    inputSchema: readInputSchema(reader, context),
    deadlineMs: reader.duration('deadline', 1) ?? null,
    onDeadline: reader.oneOf('onDeadline', ['compensate', 'expire']) ?? 'compensate',
    compensation: reader.oneOf('compensation', ['parallel', 'sequential']) ?? 'parallel',
    compensationTimeoutMs: reader.duration('compensationTimeout', 1) ?? null,
  } as const;
  const nodes = readNodes(context, reader);
  const output = reader.template('output') ?? null;
  reader.refuseOthers(FIELDS_NOT_AVAILABLE);
  if (nodes.length > 0) checkGraph(nodes, output, context.issues);
  if (id === undefined || version === undefined) return undefined;
  const specs = nodes.map((node) => node.spec).filter((spec): spec is NodeSpec => spec !== undefined);
  return { version, spec: { id, ...settings, nodes: specs, output } };
}

/** JSON Schema, kept as text; whoever checks inputs compiles it. */
function readInputSchema(reader: ObjectReader, context: ReadContext): string | null {
  const node = reader.node('input');
  if (node === undefined) return null;
  if (node.kind === 'object' || node.kind === 'true' || node.kind === 'false') {
    return context.text.slice(node.start, node.end);
  }
  context.issues.error('WRONG_TYPE', ['input'], 'expected a JSON Schema: an object, true or false');
  return null;
}

function readNodes(context: ReadContext, reader: ObjectReader): readonly ReadNode[] {
  reader.required('nodes', 'at least one node');
  const items = reader.items('nodes');
  if (items === undefined) return [];
  if (items.length === 0) context.issues.error('NO_NODES', ['nodes'], 'a definition has at least one node');
  if (items.length > MAX_NODES) {
    context.issues.error('TOO_MANY_NODES', ['nodes'], `${items.length} nodes, at most ${MAX_NODES}`);
    return [];
  }
  const nodes = items.map((item, index) => readNode(context, item, index));
  const edges = nodes.reduce((sum, node) => sum + node.after.length, 0);
  if (edges <= MAX_EDGES) return nodes;
  context.issues.error('TOO_MANY_EDGES', ['nodes'], `${edges} edges, at most ${MAX_EDGES}`);
  return [];
}
