import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A test, or a group of tests, whose title carries the numbers of cases. */
export interface NumberedTitle {
  readonly file: string;
  readonly title: string;
  readonly cases: readonly string[];
}

/** A row of docs/reference/cases.md. */
export interface CaseRow {
  readonly id: string;
  readonly what: string;
  readonly shownBy: readonly { readonly file: string; readonly title: string }[];
  /** What is missing for the rest of it; empty where nothing is. */
  readonly waitsFor: string;
}

const FOLDERS = ['apps', 'libs', 'examples', 'migrations', 'tools', 'bench', 'tests'];
const TEST_FILE = /\.(?:spec|e2e|soak)\.ts$/;
/** Tests that several specs run, each on what it has. */
const SUITE_FILE = /(?:^|\/)testing\/(?:[^/]+\/)*[^/]*suite[^/]*\.ts$/;
const SKIPPED_FOLDER = /(?:^|\/)(?:dist|node_modules|generated)\//;
const CASE = /\bB(\d{2,3})\b/g;

export function readNumberedTitles(root: string): readonly NumberedTitle[] {
  const own = readTitles(root).filter(({ file }) => TEST_FILE.test(file));
  return own.flatMap(({ file, title }) => {
    const cases = [...new Set([...title.matchAll(CASE)].map(([id]) => id))];
    return cases.length === 0 ? [] : [{ file, title, cases }];
  });
}

/** Every title of every test of the workspace, also of those that are written once for several specs. */
export function readTitles(root: string): readonly { readonly file: string; readonly title: string }[] {
  return FOLDERS.flatMap((folder) => testFiles(root, folder)).flatMap((file) =>
    titlesOf(readFileSync(join(root, file), 'utf8')).map((title) => ({ file, title })),
  );
}

function testFiles(root: string, folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => (TEST_FILE.test(name) || SUITE_FILE.test(name)) && !SKIPPED_FOLDER.test(name))
      .map((name) => `${folder}/${name}`)
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Titles of describe, it and test, with whatever stands between the name and the call (`it.each(…)`). */
export function titlesOf(source: string): readonly string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:describe|it|test)$/.test(nameOf(node.expression))) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) titles.push(title.text);
      else if (title !== undefined && ts.isTemplateExpression(title)) titles.push(title.getText().slice(1, -1));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest, true));
  return titles;
}

/** it, it.each(…), describe.each(…).skip: the first name. */
function nameOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  if (ts.isPropertyAccessExpression(expression) || ts.isCallExpression(expression))
    return nameOf(expression.expression);
  if (ts.isTaggedTemplateExpression(expression)) return nameOf(expression.tag);
  return '';
}

const ROW = /^\| (B\d{2,3}) +\|(.*)\|(.*)\|(.*)\|$/;
const ENTRY = /\[[^\]]*\]\(\.\.\/\.\.\/([^)]+)\) (.+)/;

export function readCaseRows(markdown: string): readonly CaseRow[] {
  return markdown.split('\n').flatMap((line) => {
    const [, id, what, shown, waits] = ROW.exec(line.replaceAll('\\|', '¦')) ?? [];
    if (id === undefined) return [];
    const entries = cell(shown)
      .split('<br>')
      .filter((text) => text !== '');
    return [{ id, what: cell(what), shownBy: entries.map(entryOf), waitsFor: cell(waits) }];
  });
}

function cell(text: string | undefined): string {
  return (text ?? '').trim().replaceAll('¦', '|');
}

function entryOf(text: string): CaseRow['shownBy'][number] {
  const [, file, title] = ENTRY.exec(text) ?? [];
  return { file: file ?? text, title: (title ?? '').replaceAll(/\\([_*`<[\]])/g, '$1') };
}

/** The same document with the tests that the titles name. What is written by hand stays as it is. */
export function withTests(markdown: string, titles: readonly NumberedTitle[]): string {
  return markdown
    .split('\n')
    .map((line) => {
      const [row] = readCaseRows(line);
      if (row === undefined) return line;
      const shown = titles.filter(({ cases }) => cases.includes(row.id)).map(entryText);
      return `| ${[row.id, row.what, shown.join('<br>'), row.waitsFor].join(' | ')} |`.replaceAll('  ', ' ');
    })
    .join('\n');
}

/** A test as it stands in a cell of a table below docs/reference. */
export function entryText({ file, title }: { readonly file: string; readonly title: string }): string {
  const text = title.replaceAll('|', '\\|').replaceAll(/([_*`<[\]])/g, '\\$1');
  return `[${file.slice(file.lastIndexOf('/') + 1)}](../../${file}) ${text}`;
}

/** Everything in which the table and the tests disagree. */
export function findCaseProblems(rows: readonly CaseRow[], titles: readonly NumberedTitle[]): readonly string[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  const problems: string[] = [];
  for (const row of rows) {
    if (row.shownBy.length === 0 && row.waitsFor === '')
      problems.push(`${row.id} is shown by nothing, and waits for nothing`);
    for (const { file, title } of row.shownBy) {
      const isThere = titles.some((one) => one.file === file && one.title === title && one.cases.includes(row.id));
      if (!isThere) problems.push(`${row.id}: ${file} has no test with the number and the title "${title}"`);
    }
  }
  for (const { file, title, cases } of titles) {
    for (const id of cases) {
      const row = known.get(id);
      if (row === undefined) problems.push(`${file} shows ${id}, which is no case`);
      else if (row.shownBy.length === 0) problems.push(`${id} is shown by ${file}: "${title}"`);
    }
  }
  return problems;
}
