/** What the text of a statement does to a transaction. Good enough for a test's own statements: no nested comments. */

const NOT_CODE = /'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//g;
const ROW_LOCK = /\bfor\s+(?:no\s+key\s+)?update\b/gi;
const WRITES =
  /\b(?:insert\s+into|merge\s+into|delete\s+from|update\s+[\w".]+|truncate|create|alter|drop|call|do\b)|\bbaton\.write_\w+\s*\(|\bcopy\b[\s\S]*\bfrom\b/i;

/** The statements of one simple query, without literals and comments. */
export function statementsOf(sql: string): readonly string[] {
  return sql
    .replace(NOT_CODE, (text) => (text.startsWith("'") || text.startsWith('$') ? "''" : ' '))
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

export function opensTransaction(statement: string): boolean {
  return /^(?:begin|start\s+transaction)\b/i.test(statement);
}

export function commits(statement: string): boolean {
  return /^(?:commit|end)\b/i.test(statement);
}

export function rollsBack(statement: string): boolean {
  return /^(?:rollback|abort)\b/i.test(statement) && !/^rollback\s+(?:work\s+|transaction\s+)?to\b/i.test(statement);
}

/** Changes rows or tables: outside of a transaction it commits by itself. Of functions, those of `baton` that write are seen. */
export function writes(statement: string): boolean {
  return WRITES.test(statement.replace(ROW_LOCK, ' '));
}
