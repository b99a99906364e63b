import {
  compile,
  drivesBehindGate,
  heartbeatsInExecutor,
  journalHolders,
  shippedSources,
  stepsOutsideTransactions,
  type Finding,
  type SourceText,
} from './testing/architecture.js';

const src = __dirname;
const sources = shippedSources(src);

/** The sources with one more file. */
const planted = (path: string, text: string): readonly SourceText[] => [
  ...sources.filter((source) => source.path !== path),
  { path, text },
];

const describeFindings = (findings: readonly Finding[]) => findings.map(({ path, what }) => `${path}: ${what}`);

describe('the architecture of the saga library', () => {
  it('is checked over all its sources', () => {
    const paths = sources.map(({ path }) => path);
    expect(paths).toContain('runtime/driver.ts');
    expect(paths).toContain('executor/attempt.ts');
    expect(paths.some((path) => path.includes('spec'))).toBe(false);
  });

  it('I12: a step never runs inside a transaction: what calls it reaches no database', () => {
    expect(describeFindings(stepsOutsideTransactions(sources))).toEqual([]);
  });

  it.each([
    [
      'a step that the driver runs itself',
      'runtime/planted.ts',
      `import type { Saga } from '../definition/saga.js';
       export const now = (saga: Saga) => saga.steps.get('a')?.run?.({} as never);`,
    ],
    [
      'a transaction around the executor',
      'executor/planted.ts',
      `import type { SagaStep } from '../definition/saga.js';
       import { Pool } from 'pg';
       export const both = async (step: SagaStep) => { await new Pool().query('BEGIN'); step.run?.({} as never); };`,
    ],
    [
      'a database two imports away',
      'executor/outcome.ts',
      `import { Reporter } from '../journal/postgres-planted.js';
       import type { SagaStep } from '../definition/saga.js';
       export const call = ({ run }: SagaStep) => [run, Reporter];`,
    ],
  ])('I12: %s is found', (_what, path, text) => {
    expect(stepsOutsideTransactions(planted(path, text))).not.toEqual([]);
  });

  it('only the runtime holds the journal core', () => {
    expect(describeFindings(journalHolders(sources))).toEqual([]);
    const text = `import type { JournalCore } from '../journal/ports.js'; export type Client = { journal: JournalCore };`;
    expect(journalHolders(planted('client/planted.ts', text))).toMatchObject([{ rule: 'journal-holder' }]);
  });

  it('leases are renewed by the executor alone', () => {
    expect(describeFindings(heartbeatsInExecutor(sources))).toEqual([]);
    const text = `export const keep = (journal: { heartbeat(): void }) => setInterval(() => journal.heartbeat(), 1);`;
    expect(heartbeatsInExecutor(planted('runtime/planted.ts', text))).toMatchObject([{ rule: 'heartbeat' }]);
  });

  it('L4: a drive begins only behind the leader gate', () => {
    expect(describeFindings(drivesBehindGate(sources))).toEqual([]);
  });

  it.each([
    ['a drive from elsewhere', `export const go = (parts: any) => parts.driver.begin(1, 2, 3);`],
    ['a driver of its own', `import { Driver } from './driver.js'; export const mine = new Driver({} as never);`],
    ['a lock past the gate', `export const go = (gate: any) => gate.acquireLead({});`],
  ])('L4: %s is found', (_what, text) => {
    expect(drivesBehindGate(planted('runtime/planted.ts', text))).toMatchObject([{ rule: 'leader-gate' }]);
  });
});

describe('what the compiler refuses', () => {
  const CONTEXT = `import type { CompensateContext, StepContext } from './definition/types.js';`;

  it('an undo has no outbox and no transaction: these are all the things that it has', () => {
    const exactly = `${CONTEXT}
      type All = 'runId' | 'sagaId' | 'sagaVersion' | 'step' | 'input' | 'outputs' | 'attempt' | 'idempotencyKey'
        | 'signal' | 'heartbeat' | 'lastProgress' | 'output';
      type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
      export const undo: Same<keyof CompensateContext, All> = true;
      export const step: Same<keyof StepContext, Exclude<All, 'output'> | 'previous'> = true;`;
    expect(compile(src, exactly)).toEqual([]);
    expect(compile(src, exactly.replace(" | 'output';", " | 'output' | 'tx';"))).not.toEqual([]);
  });

  it('an undo that asks for a transaction or an outbox does not compile', () => {
    const wanted = ['tx', 'outbox', 'journal', 'manager', 'query'];
    const uses = wanted.map((name) => `export const ${name} = (context: CompensateContext) => context.${name};`);
    const found = compile(src, `${CONTEXT} ${uses.join(' ')}`);
    expect(found.map((text) => /Property '(\w+)' does not exist/.exec(text)?.[1])).toEqual(wanted);
  });

  it('L4: a drive without a lead does not compile, and nobody makes a lead by hand', () => {
    const header = `import type { Driver } from './runtime/driver.js'; import { SharedLead } from './runtime/shared-lead.js';`;
    const begin = (lead: string) =>
      `${header} export const go = (driver: Driver) => driver.begin({} as never, 0, ${lead});`;
    const gate = `{ mode: 'unsafe_no_leader' }`;
    expect(compile(src, begin(`SharedLead.unlocked(${gate})`))).toEqual([]);
    expect(compile(src, begin('{ release() {}, orphan() {} }'))).not.toEqual([]);
    expect(compile(src, begin('new SharedLead({} as never)')).join()).toContain('private');
  });
});
