import { builtinModules } from 'node:module';
import nx from '@nx/eslint-plugin';
import tseslint from 'typescript-eslint';
import { layerConstraints, scopeConstraints } from './tools/lib/layers.ts';
import { listProjects } from './tools/lib/projects.ts';

// Lint through nx (`nx run tools:lint`, or `./baton verify`): without the project graph that nx makes, the rule of
// module boundaries checks nothing and says nothing. tools/boundaries.spec.ts proves that it does check.

const scopes = scopeConstraints(listProjects(import.meta.dirname));
const boundaries = (options) => [
  'error',
  {
    enforceBuildableLibDependency: false,
    allow: [],
    // The testkit applies the schema; the schema's own specs use the testkit.
    ignoredCircularDependencies: [['@baton/migrations', '@baton/testkit']],
    depConstraints: [...layerConstraints(options), ...scopes],
  },
];

const specs = ['**/*.spec.ts', '**/*.soak.ts', '**/*.e2e.ts', '**/test/**/*.ts', '**/testing/**/*.ts'];
const deepImports = {
  regex: '^@baton/[^/]+/(src|dist)(/|$)',
  message: 'Import what a project exports, not a file inside it.',
};
const contractSuites = {
  regex: '^@baton/[^/]+/testing(/|$)',
  message: 'Contract suites are for specs only.',
};
// The nx rule sees npm packages and projects, never the modules that are built into Node, prefixed or bare.
const nodeBuiltins = {
  regex: `^(node:.*|(${builtinModules.filter((name) => !name.startsWith('_')).join('|')})(/.*)?)$`,
  message: 'Core is pure: nothing of Node.',
};

const noExportAll = {
  selector: 'ExportAllDeclaration[exportKind="value"]',
  message: 'List the names that a module exports: `export *` hides growth.',
};
const noEnum = { selector: 'TSEnumDeclaration', message: 'Use a union of string literals.' };

const impureGlobals = [
  'process', 'Buffer', 'console', 'global', 'globalThis', 'require', 'module', 'exports', '__dirname', '__filename',
  'setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate', 'queueMicrotask',
  'fetch', 'crypto', 'performance', 'navigator', 'WebSocket', 'XMLHttpRequest', 'localStorage', 'sessionStorage',
]; // prettier-ignore

const shared = {
  plugins: { '@nx': nx, '@typescript-eslint': tseslint.plugin },
  linterOptions: { reportUnusedDisableDirectives: 'error' },
  rules: {
    eqeqeq: ['error', 'always', { null: 'ignore' }],
    'no-var': 'error',
    'prefer-const': 'error',
    'no-debugger': 'error',
    'no-unsafe-finally': 'error',
    'no-self-compare': 'error',
    'no-template-curly-in-string': 'off',
    'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'start' }],
    'max-lines': ['error', { max: 400 }],
    'max-lines-per-function': ['error', { max: 60 }],
    'max-params': ['error', { max: 4 }],
  },
};

export default tseslint.config(
  { ignores: ['**/dist/', '**/node_modules/', '.baton/', '.nx/', 'coverage/', 'libs/contracts/src/generated/'] },
  { ...shared, files: ['**/*.{mjs,cjs,js}'] },
  {
    ...shared,
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommended],
    languageOptions: { parserOptions: { project: './tsconfig.typecheck.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...shared.rules,
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/no-restricted-imports': ['error', { patterns: [deepImports, contractSuites] }],
      'no-restricted-syntax': ['error', noExportAll, noEnum],
      '@nx/enforce-module-boundaries': boundaries(),
    },
  },
  {
    // Only the CLI, the end-to-end project, the benches and one example start local servers.
    files: ['apps/cli/**/*.ts', 'examples/embedded-saga/src/database.ts'],
    rules: { '@nx/enforce-module-boundaries': boundaries({ also: ['tooling'] }) },
  },
  {
    files: ['bench/**/*.ts'],
    rules: { '@nx/enforce-module-boundaries': boundaries({ also: ['testing', 'tooling'] }) },
  },
  {
    files: [...specs, 'apps/e2e/**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 800 }],
      'max-lines-per-function': 'off',
      '@nx/enforce-module-boundaries': boundaries({
        also: ['testing', 'tooling'],
        alsoTags: ['role:schema'],
        anyPackage: true,
      }),
      '@typescript-eslint/no-restricted-imports': ['error', { patterns: [deepImports] }],
    },
  },
  {
    // Generated code, listed as a whole.
    files: ['libs/contracts/src/index.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['libs/core/src/**/*.ts'],
    ignores: specs,
    rules: {
      // A later block replaces a rule's options: the shared patterns are repeated here.
      '@typescript-eslint/no-restricted-imports': ['error', { patterns: [deepImports, contractSuites, nodeBuiltins] }],
      'no-restricted-globals': ['error', ...impureGlobals.map((name) => ({ name, message: 'Core is pure.' }))],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time is given to core.' },
        { object: 'Math', property: 'random', message: 'Randomness is given to core.' },
      ],
      'no-restricted-syntax': [
        'error',
        noExportAll,
        noEnum,
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: 'Time is given to core.' },
        { selector: 'CallExpression[callee.name="Date"]', message: 'Time is given to core.' },
        { selector: 'ImportExpression', message: 'Core imports nothing at run time.' },
      ],
    },
  },
);
