import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// Which test files name a rule in a title. Contract suites (functions `describe...` that several specs run) count for
// the specs that run them.

const spec = /\.spec\.ts$/;
const integration = /\.int\.spec\.ts$/;

export interface NamingTests {
  unit: string[];
  integration: string[];
}

/** `files`: every file of the project, relative to `root`. A title is a string that names the rule outside of comments. */
export function namingTests(root: string, files: string[], rule: string): NamingTests {
  const sources = files.filter((file) => file.endsWith('.ts')).map((file) => ({ file, text: code(join(root, file)) }));
  const inString = new RegExp(`['"\`][^'"\`\\n]*\\b${rule}\\b`);
  const naming = sources.filter(({ text }) => inString.test(text));
  const suites = naming
    .filter(({ file }) => !spec.test(file))
    .flatMap(({ text }) => [...text.matchAll(/export function (describe\w+)/g)].map((match) => match[1] ?? ''));
  const running = sources.filter(({ text }) => suites.some((suite) => text.includes(`${suite}(`)));
  const found = [...new Set([...naming, ...running].map(({ file }) => file))].filter((file) => spec.test(file)).sort();
  return {
    unit: found.filter((file) => !integration.test(file)),
    integration: found.filter((file) => integration.test(file)),
  };
}

function code(file: string): string {
  return readFileSync(file, 'utf8').replace(/^\s*(\/\/|\*|\/\*).*$/gm, '');
}
