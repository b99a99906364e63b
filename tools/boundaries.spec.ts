import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

// The canary of the module boundaries. Rules that are configured wrongly, or that find no project graph, let
// everything through in silence: so here known violations are linted, and each must be caught.

const root = join(__dirname, '..');
const boundaries = '@nx/enforce-module-boundaries';
const imports = '@typescript-eslint/no-restricted-imports';

interface Sample {
  what: string;
  path: string;
  text: string;
  rule: string | undefined;
}

const forbidden: Sample[] = [
  ...['node:fs', 'fs', 'fs/promises', 'node:crypto', 'timers', 'process'].map((name) => ({
    what: `core importing ${name}`,
    path: 'libs/core/src/index.ts',
    text: `import * as x from '${name}';\nexport const y = x;\n`,
    rule: imports,
  })),
  {
    what: 'core importing a built-in for its type',
    path: 'libs/core/src/index.ts',
    text: `import type { Stats } from 'node:fs';\nexport type X = Stats;\n`,
    rule: imports,
  },
  usage('core importing a package', 'libs/core/src/index.ts', 'pg', boundaries),
  usage('core importing the engine', 'libs/core/src/index.ts', '@baton/engine', boundaries),
  usage('engine importing pg', 'libs/engine/src/index.ts', 'pg', boundaries),
  usage('engine importing kafkajs', 'libs/engine/src/index.ts', 'kafkajs', boundaries),
  usage('engine importing generated contracts', 'libs/engine/src/index.ts', '@baton/contracts', boundaries),
  usage('an adapter importing Nest', 'libs/storage-postgres/src/index.ts', '@nestjs/common', boundaries),
  usage('the worker importing Nest', 'libs/worker/src/index.ts', '@nestjs/common', boundaries),
  usage('the platform importing an adapter', 'libs/platform/src/index.ts', '@baton/bus-kafka', boundaries),
  usage('a service starting local servers', 'apps/coordinator/src/index.ts', '@baton/local-stack', boundaries),
  usage('shipped code importing the testkit', 'libs/engine/src/index.ts', '@baton/testkit', boundaries),
  usage('a contract suite in shipped code', 'libs/storage-postgres/src/index.ts', '@baton/engine/testing', imports),
  usage('a file inside another project', 'apps/coordinator/src/index.ts', '@baton/engine/src/api.js', imports),
  ...[
    ['a dynamic import', `export const x = import('fs');`, 'no-restricted-syntax'],
    ['require', `export const x: unknown = require('fs');`, 'no-restricted-globals'],
    ['the clock', 'export const x = Date.now();', 'no-restricted-properties'],
    ['the clock by new Date()', 'export const x = new Date();', 'no-restricted-syntax'],
    ['the clock by Date()', 'export const x = Date();', 'no-restricted-syntax'],
    ['the clock by performance', 'export const x = performance.now();', 'no-restricted-globals'],
    ['randomness', 'export const x = Math.random();', 'no-restricted-properties'],
    ['randomness by crypto', 'export const x = crypto.randomUUID();', 'no-restricted-globals'],
    ['a timer', 'setTimeout(() => {}, 1);\nexport {};', 'no-restricted-globals'],
    ['the network', `export const x = fetch('http://a');`, 'no-restricted-globals'],
    ['the environment', 'export const x = process.env;', 'no-restricted-globals'],
  ].map(([what, text, rule]) => ({
    what: `core using ${what}`,
    path: 'libs/core/src/index.ts',
    text: `${text}\n`,
    rule,
  })),
  {
    what: 'any',
    path: 'libs/engine/src/index.ts',
    text: 'export const x: any = 1;\n',
    rule: '@typescript-eslint/no-explicit-any',
  },
  {
    what: 'a promise that nobody waits for',
    path: 'libs/engine/src/index.ts',
    text: 'async function f(): Promise<void> {}\nf();\n',
    rule: '@typescript-eslint/no-floating-promises',
  },
];

const allowed: Sample[] = [
  { ...usage('engine importing core', 'libs/engine/src/index.ts', '@baton/core'), rule: undefined },
  { ...usage('an adapter importing its driver', 'libs/storage-postgres/src/index.ts', 'pg'), rule: undefined },
  { ...usage('a service importing Nest', 'apps/coordinator/src/index.ts', '@nestjs/common'), rule: undefined },
  {
    what: 'core computing with a given instant',
    path: 'libs/core/src/index.ts',
    text: 'export const x = new Date(0).getTime() + Math.max(1, 2);\n',
    rule: undefined,
  },
];

function usage(what: string, path: string, name: string, rule?: string): Sample {
  return { what, path, text: `import * as x from '${name}';\nexport const y = x;\n`, rule };
}

describe('the boundaries between modules', () => {
  const samples = [...forbidden, ...allowed];
  let found: string[][] = [];

  beforeAll(() => {
    const environment = { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false', NODE_OPTIONS: '' };
    const child = spawnSync(process.execPath, ['tools/lint-texts.ts'], {
      cwd: root,
      input: JSON.stringify(samples),
      encoding: 'utf8',
      env: environment,
    });
    if (child.status !== 0) throw new Error(`the linter failed: ${child.stderr}`);
    found = JSON.parse(child.stdout) as string[][];
  }, 120_000);

  it.each(forbidden.map((sample) => [sample.what, sample] as const))('catch %s', (_what, sample) => {
    expect(found[samples.indexOf(sample)]).toContain(sample.rule);
  });

  it.each(allowed.map((sample) => [sample.what, sample] as const))('allow %s', (_what, sample) => {
    expect(found[samples.indexOf(sample)]).toEqual([]);
  });
});
