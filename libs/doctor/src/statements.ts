import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One file, one statement, one name; beside `dist`, so that both builds read the same files. */
const SQL_FOLDER = join(__dirname, '..', 'src', 'sql');

const loaded = new Map<string, string>();

export function statementText(name: string): string {
  let text = loaded.get(name);
  if (text === undefined) {
    text = readFileSync(join(SQL_FOLDER, `${name}.sql`), 'utf8').replace(/^\s*--.*\n/gm, '');
    loaded.set(name, text);
  }
  return text;
}

/** Every statement there is, for the test that looks at all of them (R36). */
export function statementNames(): readonly string[] {
  return readdirSync(SQL_FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort();
}
