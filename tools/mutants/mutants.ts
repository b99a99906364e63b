import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// A mutant is a patch that undoes one rule: tests/mutants/R07-what.patch. Above the diff stand lines `Name: value`.

export interface Mutant {
  /** The file's name without .patch. */
  name: string;
  /** The rule that it undoes: `R7`. */
  rule: string;
  /** What it takes away, in one sentence. */
  undoes: string;
  /** Projects to build in the copy, for tests that start processes from dist. */
  build: string[];
  file: string;
  /** Files that the patch changes, relative to the root. */
  touched: string[];
}

export function readMutants(folder: string): Mutant[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.patch'))
    .sort()
    .map((name) =>
      parseMutant(join(folder, name), name.slice(0, -'.patch'.length), readFileSync(join(folder, name), 'utf8')),
    );
}

export function parseMutant(file: string, name: string, text: string): Mutant {
  const start = text.indexOf('diff --git ');
  const head = start < 0 ? text : text.slice(0, start);
  const rule = header(head, 'Rule');
  const undoes = header(head, 'Undoes');
  const touched = [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map((match) => match[1] ?? '');
  if (rule === undefined || !/^R\d+$/.test(rule)) throw new Error(`${file}: needs a line "Rule: R<number>"`);
  if (!name.startsWith(`R${rule.slice(1).padStart(2, '0')}-`))
    throw new Error(`${file}: its name must start with its rule`);
  if (undoes === undefined) throw new Error(`${file}: needs a line "Undoes: <one sentence>"`);
  if (touched.length === 0) throw new Error(`${file}: holds no diff`);
  return { name, rule, undoes, build: (header(head, 'Build') ?? '').split(/[\s,]+/).filter(Boolean), file, touched };
}

function header(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.+)$`, 'm').exec(head)?.[1]?.trim();
}

/** Every tenth mutant, beginning at `turn`: ten turns see all of them. */
export function tenth(mutants: Mutant[], turn: number): Mutant[] {
  return mutants.filter((_, index) => index % 10 === turn % 10);
}
