import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The SQL lies beside `src` and `dist`, so that both find it. */
const SQL_FOLDER = join(__dirname, '..', 'sql');

export function readSqlFile(name: string): string {
  return readFileSync(join(SQL_FOLDER, name), 'utf8');
}
