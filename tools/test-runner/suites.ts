// The suites of the project. A new suite is a row here; `./baton test --list` shows it.

const node = process.execPath;
const nx = [node, 'node_modules/nx/dist/bin/nx.js'];
const tsc = [node, 'node_modules/typescript/bin/tsc', '--pretty', 'false'];
const mutants = [node, 'tools/mutants/run.ts'];
const minutes = (count: number): number => count * 60_000;

export interface Check {
  kind: 'check';
  name: string;
  command: string[];
}

export interface JestRun {
  kind: 'jest';
  name: string;
  config: string;
  args?: string[];
}

/** A program that takes `--results FILE` and writes its counts there in the form of Jest's results. */
export interface Program {
  kind: 'program';
  name: string;
  command: string[];
}

export type Step = Check | JestRun | Program;

export interface Suite {
  name: string;
  about: string;
  /** Each check counts as one test; a Jest run counts as its tests. */
  steps: Step[];
  /** For the whole suite. One that takes longer is stopped, and has failed. */
  limitMs: number;
  /** Part of `verify`: what a contributor runs before a commit. */
  verify: boolean;
  /** Runs only when it is named: long. */
  onlyNamed?: boolean;
}

/** Runs at most once for all suites that list it. */
const build: Check = { kind: 'check', name: 'build', command: [...nx, 'run-many', '-t', 'build', '--parallel=2'] };

export const suites: Suite[] = [
  {
    name: 'format',
    about: 'every file is formatted as prettier would',
    steps: [check('format', [node, 'node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'])],
    limitMs: minutes(2),
    verify: true,
  },
  {
    name: 'lint',
    about: 'ESLint with the module boundaries; tags and references of the projects',
    steps: [check('tags', [node, 'tools/check-tags.ts']), check('lint', [...nx, 'run', 'tools:lint'])],
    limitMs: minutes(5),
    verify: true,
  },
  {
    name: 'typecheck',
    about: 'every project builds, and its tests typecheck',
    steps: [build, check('typecheck', [...tsc, '-p', 'tsconfig.typecheck.json'])],
    limitMs: minutes(6),
    verify: true,
  },
  {
    name: 'generated',
    about: 'buf lint, and the committed protocol code is what the protos generate',
    steps: [check('generated', [node, 'tools/generate.ts', '--check'])],
    limitMs: minutes(2),
    verify: true,
  },
  {
    name: 'unit',
    about: '*.spec.ts: pure, nothing but Node',
    steps: [{ kind: 'jest', name: 'unit', config: 'jest.config.cjs' }],
    limitMs: minutes(5),
    verify: true,
  },
  {
    name: 'integration',
    about: '*.int.spec.ts: on real PostgreSQL and Kafka',
    steps: [build, { kind: 'jest', name: 'integration', config: 'jest.int.config.cjs' }],
    limitMs: minutes(15),
    verify: false,
  },
  {
    name: 'e2e',
    about: '*.e2e.ts: the whole platform as separate processes, faults included',
    steps: [build, { kind: 'jest', name: 'e2e', config: 'jest.e2e.config.cjs' }],
    limitMs: minutes(15),
    verify: false,
  },
  {
    name: 'mutants-tenth',
    about: 'a tenth of the mutants, another one with each commit',
    steps: [{ kind: 'program', name: 'mutants', command: [...mutants, '--tenth'] }],
    limitMs: minutes(10),
    verify: false,
  },
  {
    name: 'mutants',
    about: 'every patch of tests/mutants undoes a rule, and the tests that name the rule notice (minutes)',
    steps: [{ kind: 'program', name: 'mutants', command: [...mutants, '--keep'] }],
    limitMs: minutes(90),
    verify: false,
    onlyNamed: true,
  },
  {
    name: 'soak',
    about: '*.soak.ts: the long forms of faults and random histories; figures go to docs/results (up to an hour)',
    steps: [build, { kind: 'jest', name: 'soak', config: 'jest.soak.config.cjs' }],
    limitMs: minutes(90),
    verify: false,
    onlyNamed: true,
  },
];

function check(name: string, command: string[]): Check {
  return { kind: 'check', name, command };
}

/** The suites that the words of the command line ask for, in the order of the table; unknown words apart. */
export function selectSuites(words: string[]): { selected: Suite[]; unknown: string[] } {
  const matches = (suite: Suite): boolean => words.includes(suite.name) || (words.includes('verify') && suite.verify);
  const known = new Set([...suites.map((suite) => suite.name), 'verify']);
  return {
    selected: words.length === 0 ? suites.filter((suite) => suite.onlyNamed !== true) : suites.filter(matches),
    unknown: words.filter((word) => !known.has(word)),
  };
}
