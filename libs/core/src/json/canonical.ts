import type { JsonNode } from './parse.js';
import { parseJson } from './parse.js';

/**
 * One text for all spellings of a JSON value: keys sorted by code unit, no white space, strings escaped one way.
 * Numbers keep their digits (`1.0` is not `1`): nothing is rounded, so two inputs never hash alike by accident (B70).
 * For hashes only. A text that is not JSON is returned as it is.
 */
export function canonicalJson(text: string): string {
  const parsed = parseJson(text);
  if (!parsed.ok) return text;
  const out: string[] = [];
  write(text, parsed.root, out);
  return out.join('');
}

function write(text: string, node: JsonNode, out: string[]): void {
  switch (node.kind) {
    case 'object': {
      // A stable sort: a key that occurs twice keeps its order, and so differs from a key that occurs once.
      const members = [...node.members].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
      members.forEach((member, index) => {
        out.push(index === 0 ? '{' : ',', JSON.stringify(member.key), ':');
        write(text, member.value, out);
      });
      out.push(members.length === 0 ? '{}' : '}');
      return;
    }
    case 'array':
      node.items.forEach((item, index) => {
        out.push(index === 0 ? '[' : ',');
        write(text, item, out);
      });
      out.push(node.items.length === 0 ? '[]' : ']');
      return;
    case 'string':
      out.push(JSON.stringify(node.value));
      return;
    default:
      out.push(text.slice(node.start, node.end));
  }
}
