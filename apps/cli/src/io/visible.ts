/**
 * What moves the cursor, rings, recolours, or reverses the order of letters. Names, keys and error texts come from
 * others and must not command the terminal of whoever reads them (B125).
 */
const COMMANDS = /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
const COMMANDS_AND_BREAKS = /[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** Text of several lines for people. */
export function visible(text: string): string {
  return text.replace(COMMANDS, escaped);
}

/** Text that has to stay on its line. */
export function visibleOnOneLine(text: string): string {
  return text.replace(COMMANDS_AND_BREAKS, escaped);
}

/** As JSON writes it: a payload that is shown still means the same. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
