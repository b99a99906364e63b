import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTitles } from './lib/cases.ts';
import { SAGA_ITEMS } from './lib/saga-item-list.ts';
import { findItemProblems, itemPage } from './lib/saga-items.ts';

/** Writes docs/reference/saga-acceptance.md from the titles of the tests, and says what is missing: `node tools/saga-items.ts`. */
const root = join(import.meta.dirname, '..');
const titles = readTitles(root);
writeFileSync(join(root, 'docs', 'reference', 'saga-acceptance.md'), itemPage(SAGA_ITEMS, titles));
const problems = findItemProblems(SAGA_ITEMS, titles);
for (const problem of problems) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
