/** Text that every database takes: without NUL, cut to a length in UTF-16 units, without halves of characters. */
export function storable(text: string, maxChars: number): string {
  return text.slice(0, maxChars).replaceAll('\0', '\uFFFD').toWellFormed();
}
