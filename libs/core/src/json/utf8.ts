/** Almost every payload: one byte a character, seen at the speed of the engine's own scanner. */
const ONE_BYTE_ONLY = /^[^\u0080-\uffff]*$/;

/** Bytes that a text takes in UTF-8. A lone surrogate counts 3, as its replacement character does. */
export function utf8Length(text: string): number {
  if (ONE_BYTE_ONLY.test(text)) return text.length;
  let bytes = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
    } else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 2; // a pair is 4 bytes for 2 units
      i += 1;
    } else {
      bytes += 2;
    }
  }
  return bytes;
}

export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
