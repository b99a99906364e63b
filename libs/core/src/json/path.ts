import type { JsonNode } from './parse.js';
import { parseJson } from './parse.js';

/** A key of an object (string) or an index of an array (number). */
export type PathSegment = string | number;

/**
 * The value at a path, or undefined. Only what is in the text can be found: there is no prototype to walk into,
 * no `length` of an array (B93). Of a key that occurs twice the last one counts, as for JSON.parse.
 */
export function findPath(root: JsonNode, path: readonly PathSegment[]): JsonNode | undefined {
  let node: JsonNode | undefined = root;
  for (const segment of path) {
    if (node === undefined) return undefined;
    if (typeof segment === 'number') node = node.kind === 'array' ? node.items[segment] : undefined;
    else node = node.kind === 'object' ? node.members.findLast((member) => member.key === segment)?.value : undefined;
  }
  return node;
}

/** The raw text of the value at a path, byte for byte; undefined = there is none, or the text is not JSON. */
export function sliceByPath(text: string, path: readonly PathSegment[]): string | undefined {
  const parsed = parseJson(text);
  const node = parsed.ok ? findPath(parsed.root, path) : undefined;
  return node === undefined ? undefined : text.slice(node.start, node.end);
}

/** A JSON pointer (RFC 6901) from its segments. */
export function jsonPointer(segments: readonly PathSegment[]): string {
  return segments.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
