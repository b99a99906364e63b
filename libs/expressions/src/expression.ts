import type { PathSegment } from '@baton/core';

/**
 * One expression: the text between `${` and `}`. The language is a path subset of CEL, so that definitions of today
 * stay valid when the whole of CEL comes: `input`, `nodes.<id>.output` and `run.<field>`, followed by `.name`,
 * `["any key"]` and `[0]`. There are no operators, functions or calls.
 */
export type Expression =
  | { readonly root: 'input'; readonly path: readonly PathSegment[] }
  | { readonly root: 'output'; readonly nodeId: string; readonly path: readonly PathSegment[] }
  | { readonly root: 'run'; readonly field: RunField };

export type RunField = 'id' | 'definition' | 'version';

export type ExpressionParse =
  { readonly ok: true; readonly expression: Expression } | { readonly ok: false; readonly message: string };

const MAX_LENGTH = 1_000;
const MAX_SEGMENTS = 64;
const MAX_INDEX = 1_000_000;
const RUN_FIELDS: readonly RunField[] = ['id', 'definition', 'version'];

export function parseExpression(source: string): ExpressionParse {
  if (source.length > MAX_LENGTH) return wrong(`longer than ${MAX_LENGTH} characters`);
  const segments = readSegments(source.trim());
  if (typeof segments === 'string') return wrong(segments);
  if (segments.length > MAX_SEGMENTS) return wrong(`more than ${MAX_SEGMENTS} steps`);
  const [root, ...path] = segments;
  switch (root) {
    case 'input':
      return { ok: true, expression: { root: 'input', path } };
    case 'nodes':
      return readOutput(path);
    case 'run':
      return readRunField(path);
    default:
      return wrong(`starts with ${JSON.stringify(root)}: only input, nodes and run can be read`);
  }
}

function wrong(message: string): ExpressionParse {
  return { ok: false, message };
}

function readOutput([nodeId, output, ...path]: readonly PathSegment[]): ExpressionParse {
  if (typeof nodeId !== 'string') return wrong('nodes is followed by the id of a node');
  if (output !== 'output') return wrong(`only the output of a node can be read: nodes.${nodeId}.output`);
  return { ok: true, expression: { root: 'output', nodeId, path } };
}

function readRunField([name, ...rest]: readonly PathSegment[]): ExpressionParse {
  const field = RUN_FIELDS.find((candidate) => candidate === name);
  if (field === undefined || rest.length > 0) return wrong(`run has the fields ${RUN_FIELDS.join(', ')}`);
  return { ok: true, expression: { root: 'run', field } };
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const INDEX = /\[\s*(\d{1,7})\s*\]/y;
const KEY = /\[\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*\]/y;

/** The steps of a path, or what is wrong with it. */
function readSegments(source: string): PathSegment[] | string {
  if (source === '') return 'there is no path in it';
  const first = match(NAME, source, 0);
  if (first === undefined) return 'a path starts with input, nodes or run';
  const segments: PathSegment[] = [first[0]];
  let at = first[0].length;
  while (at < source.length) {
    const step = source[at] === '.' ? readName(source, at) : readBracket(source, at);
    if (typeof step === 'string') return step;
    segments.push(step.segment);
    at = step.end;
  }
  return segments;
}

interface Step {
  readonly segment: PathSegment;
  readonly end: number;
}

function readName(source: string, at: number): Step | string {
  const name = match(NAME, source, at + 1);
  if (name === undefined) return `a name is missing after the "." at character ${at}`;
  return { segment: name[0], end: at + 1 + name[0].length };
}

function readBracket(source: string, at: number): Step | string {
  const index = match(INDEX, source, at);
  if (index !== undefined) {
    const segment = Number(index[1]);
    return segment <= MAX_INDEX ? { segment, end: at + index[0].length } : `an index larger than ${MAX_INDEX}`;
  }
  const key = match(KEY, source, at);
  if (key !== undefined) {
    const segment = unescapeKey(key[1] ?? key[2] ?? '');
    if (segment === undefined) return 'an unknown escape in a key: only \\\\, \\" and \\\' are known';
    return { segment, end: at + key[0].length };
  }
  if (source[at] === '-') return 'a "-" in a name: write the name in brackets, such as nodes["my-node"]';
  return `${JSON.stringify(source.slice(at, at + 10))} at character ${at}: expected ".name", ["key"] or [0]`;
}

function unescapeKey(raw: string): string | undefined {
  let known = true;
  const key = raw.replaceAll(/\\(.)/gs, (_whole, escaped: string) => {
    if (!`\\"'`.includes(escaped)) known = false;
    return escaped;
  });
  return known ? key : undefined;
}

function match(pattern: RegExp, source: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source) ?? undefined;
}
