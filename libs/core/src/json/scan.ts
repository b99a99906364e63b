import { MAX_JSON_DEPTH } from './limits.js';
import { isHighSurrogate, isLowSurrogate } from './utf8.js';

/** What is wrong with a JSON text, and where (an index into the text). */
export interface JsonFault {
  readonly code: 'NOT_JSON' | 'TOO_DEEP' | 'NUL' | 'SURROGATE';
  readonly message: string;
  readonly at: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;

/** The run of a string's characters up to one that means something: payloads are long, and mostly this. */
const PLAIN = /[^"\\\u0000-\u001f]*/y;

/**
 * Checks the syntax of RFC 8259 and what PostgreSQL and UTF-8 cannot hold, in one pass without recursion:
 * a text of a million brackets is refused, not a stack overflow.
 */
export function findJsonFault(text: string, maxDepth: number = MAX_JSON_DEPTH): JsonFault | undefined {
  const nul = text.indexOf('\u0000');
  if (nul >= 0) return { code: 'NUL', message: 'a raw NUL character', at: nul };
  if (!text.isWellFormed()) {
    return { code: 'SURROGATE', message: 'a lone surrogate: the text is not valid Unicode', at: loneSurrogate(text) };
  }
  return new Scanner(text, maxDepth).run();
}

function loneSurrogate(text: string): number {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) i += 1;
    else if (isHighSurrogate(unit) || isLowSurrogate(unit)) return i;
  }
  return -1;
}

/** What may come next at the scanner's place. */
type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'after-value';

class Scanner {
  private at = 0;
  private fault: JsonFault | undefined;
  /** true = an object is open at this level, false = an array. */
  private readonly open: boolean[] = [];

  constructor(
    private readonly text: string,
    private readonly maxDepth: number,
  ) {}

  run(): JsonFault | undefined {
    let expected: Expected = 'value';
    while (this.fault === undefined) {
      this.skipSpace();
      if (this.at >= this.text.length) {
        if (expected !== 'after-value' || this.open.length > 0) this.fail('the text ends too early');
        break;
      }
      expected = this.step(expected);
    }
    return this.fault;
  }

  private step(expected: Expected): Expected {
    switch (expected) {
      case 'value':
      case 'value-or-end':
        if (expected === 'value-or-end' && this.peek() === ']') return this.close();
        return this.value();
      case 'key':
      case 'key-or-end':
        if (expected === 'key-or-end' && this.peek() === '}') return this.close();
        return this.key();
      case 'after-value':
        return this.afterValue();
    }
  }

  private value(): Expected {
    const char = this.peek();
    if (char === '{' || char === '[') {
      if (this.open.length >= this.maxDepth) {
        return this.fail(`nested deeper than ${this.maxDepth} levels`, 'TOO_DEEP');
      }
      this.open.push(char === '{');
      this.at += 1;
      return char === '{' ? 'key-or-end' : 'value-or-end';
    }
    if (char === '"') this.string();
    else if (char === 't') this.word('true');
    else if (char === 'f') this.word('false');
    else if (char === 'n') this.word('null');
    else this.number();
    return 'after-value';
  }

  private key(): Expected {
    if (this.peek() !== '"') return this.fail('expected a key in double quotes');
    this.string();
    this.skipSpace();
    if (this.peek() !== ':') return this.fail('expected ":" after a key');
    this.at += 1;
    return 'value';
  }

  private afterValue(): Expected {
    const inObject = this.open.at(-1);
    if (inObject === undefined) return this.fail('text after the end of the value');
    const char = this.peek();
    if (char === ',') {
      this.at += 1;
      return inObject ? 'key' : 'value';
    }
    if (char === (inObject ? '}' : ']')) return this.close();
    return this.fail(`expected "," or "${inObject ? '}' : ']'}"`);
  }

  private close(): Expected {
    this.open.pop();
    this.at += 1;
    return 'after-value';
  }

  private string(): void {
    this.at += 1;
    for (;;) {
      PLAIN.lastIndex = this.at;
      PLAIN.test(this.text);
      this.at = PLAIN.lastIndex;
      if (this.at >= this.text.length) return void this.fail('a string without its closing quote');
      const unit = this.text.charCodeAt(this.at);
      if (unit === QUOTE) {
        this.at += 1;
        return;
      }
      if (unit < 0x20) return void this.fail('a control character in a string must be escaped');
      if (unit === BACKSLASH && !this.escape()) return;
    }
  }

  private escape(): boolean {
    const kind = this.text[this.at + 1];
    if (kind !== 'u') {
      if (kind === undefined || !'"\\/bfnrt'.includes(kind)) {
        this.fail('an unknown escape in a string');
        return false;
      }
      this.at += 2;
      return true;
    }
    const unit = this.escapedUnit(this.at);
    if (unit === undefined) {
      this.fail('an escape \\u needs four hexadecimal digits');
      return false;
    }
    if (unit === 0) {
      this.fail('a NUL character (\\u0000), which PostgreSQL cannot store', 'NUL');
      return false;
    }
    if (isLowSurrogate(unit)) {
      this.fail('a lone surrogate', 'SURROGATE');
      return false;
    }
    if (isHighSurrogate(unit)) {
      const low = this.escapedUnit(this.at + 6);
      if (low === undefined || !isLowSurrogate(low)) {
        this.fail('a lone surrogate', 'SURROGATE');
        return false;
      }
      this.at += 6;
    }
    this.at += 6;
    return true;
  }

  private escapedUnit(at: number): number | undefined {
    if (this.text[at] !== '\\' || this.text[at + 1] !== 'u') return undefined;
    const digits = this.text.slice(at + 2, at + 6);
    return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined;
  }

  private word(word: string): void {
    if (!this.text.startsWith(word, this.at)) this.fail('expected a value');
    else this.at += word.length;
  }

  private number(): void {
    if (this.peek() === '-') this.at += 1;
    if (this.peek() === '0') this.at += 1;
    else if (!this.digits()) return void this.fail('expected a value');
    if (this.peek() === '.') {
      this.at += 1;
      if (!this.digits()) return void this.fail('expected a digit after "."');
    }
    const exponent = this.peek();
    if (exponent === 'e' || exponent === 'E') {
      this.at += 1;
      const sign = this.peek();
      if (sign === '+' || sign === '-') this.at += 1;
      if (!this.digits()) this.fail('expected a digit in the exponent');
    }
  }

  private digits(): boolean {
    const from = this.at;
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (!(unit >= ZERO && unit <= NINE)) break;
      this.at += 1;
    }
    return this.at > from;
  }

  private peek(): string | undefined {
    return this.text[this.at];
  }

  private skipSpace(): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.at += 1;
    }
  }

  private fail(message: string, code: JsonFault['code'] = 'NOT_JSON'): Expected {
    this.fault ??= { code, message, at: this.at };
    return 'after-value';
  }
}
