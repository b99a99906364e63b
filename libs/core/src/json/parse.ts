import { MAX_JSON_DEPTH } from './limits.js';
import { findJsonFault, type JsonFault } from './scan.js';

/**
 * A value of a JSON text with its place in it. Nothing is converted: numbers keep their digits, and
 * `text.slice(start, end)` is the value byte for byte.
 */
export type JsonNode =
  | { readonly kind: 'object'; readonly start: number; readonly end: number; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly start: number; readonly end: number; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly start: number; readonly end: number; readonly value: string }
  | { readonly kind: 'number' | 'true' | 'false' | 'null'; readonly start: number; readonly end: number };

export interface JsonMember {
  readonly key: string;
  /** Place of the key with its quotes. */
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly value: JsonNode;
}

export type JsonParse =
  { readonly ok: true; readonly root: JsonNode } | { readonly ok: false; readonly fault: JsonFault };

/** Parses a JSON text to a tree of offsets. Recursion is bounded by `maxDepth`. */
export function parseJson(text: string, maxDepth: number = MAX_JSON_DEPTH): JsonParse {
  const fault = findJsonFault(text, maxDepth);
  if (fault !== undefined) return { ok: false, fault };
  const reader = new Reader(text);
  return { ok: true, root: reader.value() };
}

/** Reads a text that the scanner has passed: it has no cases for what is malformed. */
class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(): JsonNode {
    this.skipSpace();
    const start = this.at;
    switch (this.text[start]) {
      case '{':
        return { kind: 'object', start, members: this.members(), end: this.at };
      case '[':
        return { kind: 'array', start, items: this.items(), end: this.at };
      case '"':
        return { kind: 'string', start, value: this.string(), end: this.at };
      case 't':
        this.at += 4;
        return { kind: 'true', start, end: this.at };
      case 'f':
        this.at += 5;
        return { kind: 'false', start, end: this.at };
      case 'n':
        this.at += 4;
        return { kind: 'null', start, end: this.at };
      default:
        this.number();
        return { kind: 'number', start, end: this.at };
    }
  }

  private members(): JsonMember[] {
    const members: JsonMember[] = [];
    while (this.another('}')) {
      const keyStart = this.at;
      const key = this.string();
      const keyEnd = this.at;
      this.skipSpace();
      this.at += 1; // the colon
      members.push({ key, keyStart, keyEnd, value: this.value() });
    }
    return members;
  }

  private items(): JsonNode[] {
    const items: JsonNode[] = [];
    while (this.another(']')) items.push(this.value());
    return items;
  }

  /** Steps over an opening bracket or a comma; false = that was the closing bracket. */
  private another(closing: string): boolean {
    this.skipSpace();
    if (this.text[this.at] === closing) {
      this.at += 1;
      return false;
    }
    this.at += 1;
    this.skipSpace();
    if (this.text[this.at] !== closing) return true;
    this.at += 1;
    return false;
  }

  private string(): string {
    const start = this.at;
    this.at += 1;
    let escaped = false;
    for (;;) {
      const char = this.text[this.at];
      if (char === '"') break;
      if (char === '\\') {
        escaped = true;
        this.at += 1;
      }
      this.at += 1;
    }
    this.at += 1;
    const raw = this.text.slice(start, this.at);
    return escaped ? (JSON.parse(raw) as string) : raw.slice(1, -1);
  }

  private number(): void {
    while (this.at < this.text.length && '+-.0123456789eE'.includes(this.text[this.at] ?? '')) this.at += 1;
  }

  private skipSpace(): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.at += 1;
    }
  }
}
