import { text } from 'node:stream/consumers';
import { createProjectGraphAsync } from '@nx/devkit';
import { ESLint } from 'eslint';

// Lints texts as if they lay at the given paths: [{ path, text }] on stdin, the rule ids of each on stdout.
// The files need not exist. Its own process, because Jest's module loader cannot load ESLint's plugins.

// In a "single run", which the parser infers from CI=true, it would read the files on the disk instead of the texts.
process.env['TSESTREE_SINGLE_RUN'] = 'false';
const samples = JSON.parse(await text(process.stdin)) as { path: string; text: string }[];
await createProjectGraphAsync({ exitOnError: true });
const eslint = new ESLint({ cwd: process.cwd() });
const found: (string | null)[][] = [];
for (const sample of samples) {
  const results = await eslint.lintText(sample.text, { filePath: sample.path });
  found.push(results.flatMap((result) => result.messages.map((message) => message.ruleId ?? message.message)));
}
process.stdout.write(JSON.stringify(found));
