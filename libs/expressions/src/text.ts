import { parseExpression, type Expression } from './expression.js';

/** A string of a template, taken apart: plain text (unescaped) and expressions, in order. */
export type TextPart = { readonly text: string } | { readonly expression: Expression };

export type TextParse =
  | { readonly ok: true; readonly parts: readonly TextPart[] }
  | { readonly ok: false; readonly code: 'UNCLOSED_EXPRESSION' | 'BAD_EXPRESSION'; readonly message: string };

/**
 * Takes a string apart. A backslash before `${` makes it text (`\${x}` is `${x}`); of several backslashes there, two
 * are one. A backslash anywhere else is a backslash.
 */
export function parseText(source: string): TextParse {
  const parts: TextPart[] = [];
  let text = '';
  let at = 0;
  for (;;) {
    const opening = source.indexOf('${', at);
    if (opening < 0) break;
    const slashes = countBackslashesBefore(source, opening, at);
    text += source.slice(at, opening - slashes) + '\\'.repeat(Math.floor(slashes / 2));
    if (slashes % 2 === 1) {
      text += '${';
      at = opening + 2;
      continue;
    }
    const closing = findClosing(source, opening + 2);
    if (closing === undefined) {
      const message = `no "}" closes the expression that starts at character ${opening}; a literal is written \\\${`;
      return { ok: false, code: 'UNCLOSED_EXPRESSION', message };
    }
    const parsed = parseExpression(source.slice(opening + 2, closing));
    if (!parsed.ok) {
      const shown = source.slice(opening, Math.min(closing + 1, opening + 80));
      return { ok: false, code: 'BAD_EXPRESSION', message: `${shown}: ${parsed.message}` };
    }
    if (text !== '') parts.push({ text });
    text = '';
    parts.push({ expression: parsed.expression });
    at = closing + 1;
  }
  text += source.slice(at);
  if (text !== '') parts.push({ text });
  return { ok: true, parts };
}

function countBackslashesBefore(source: string, end: number, from: number): number {
  let count = 0;
  while (end - count > from && source[end - count - 1] === '\\') count += 1;
  return count;
}

/** The "}" that closes an expression: one in a quoted key does not. */
function findClosing(source: string, from: number): number | undefined {
  let quote: string | undefined;
  for (let at = from; at < source.length; at += 1) {
    const char = source[at];
    if (quote !== undefined) {
      if (char === '\\') at += 1;
      else if (char === quote) quote = undefined;
    } else if (char === '"' || char === "'") {
      quote = char;
    } else if (char === '}') {
      return at;
    } else if (char === '{') {
      return undefined; // another expression, or text: this one was never closed
    }
  }
  return undefined;
}

const PATH = String.raw`(?:workflow\.)?(?:input|output|nodes|run|steps|item)(?:\.[A-Za-z_][\w-]*|\[[^\]]*\])+`;
const IN_BRACES = new RegExp(String.raw`^\s*(?:\{\{?\s*${PATH}\s*\}?\}|\$\.?${PATH}|<%.*%>)\s*$`);
const BARE = new RegExp(String.raw`^(?:workflow\.(?:input|output)|nodes|input|run)(?:\.[A-Za-z_][\w-]*)+$`);

/** B90: text that somebody may have meant as an expression: `{input.a}`, `{{input.a}}`, `$.input.a`, `input.a`. */
export function looksLikeExpression(text: string): boolean {
  return text.length <= 200 && (IN_BRACES.test(text) || BARE.test(text));
}
