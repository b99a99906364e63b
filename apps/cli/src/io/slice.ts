import { findPath, MAX_JSON_DEPTH, parseJson, type PathSegment } from '@baton/core';

/** Payloads may be as deep as the limit, and stand a few levels down in an answer. */
const answerDepth = MAX_JSON_DEPTH + 10;

/** A part of an answer byte for byte, or undefined where it has none. */
export function sliceOf(text: string, path: readonly PathSegment[]): string | undefined {
  const parsed = parseJson(text, answerDepth);
  const node = parsed.ok ? findPath(parsed.root, path) : undefined;
  return node === undefined ? undefined : text.slice(node.start, node.end);
}
