import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readNumberedTitles, withTests } from './lib/cases.ts';

/** Writes into docs/reference/cases.md which tests show each case, as their titles say: `node tools/cases.ts`. */
const root = join(import.meta.dirname, '..');
const file = join(root, 'docs', 'reference', 'cases.md');
writeFileSync(file, withTests(readFileSync(file, 'utf8'), readNumberedTitles(root)));
