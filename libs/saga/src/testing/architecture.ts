import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import ts from 'typescript';

/** What the sources of this library must not do, found in their syntax. Each rule is proved by a planted violation. */
export interface SourceText {
  /** Below src, with forward slashes: `runtime/driver.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly rule: string;
  readonly path: string;
  readonly what: string;
}

/** Sources that ship: no specs, no tests' helpers. */
export function shippedSources(src: string): readonly SourceText[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts') && !/\.(spec|soak)\.ts$|(^|\/)(testing|weaknesses)\//.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(src, path), 'utf8') }));
}

interface Import {
  readonly from: string;
  readonly names: readonly string[];
  readonly isTypeOnly: boolean;
}

const parse = ({ path, text }: SourceText) => ts.createSourceFile(path, text, ts.ScriptTarget.ES2024, true);

function nodesOf(root: ts.Node): readonly ts.Node[] {
  const nodes = [root];
  // Grows while it is walked.
  for (const node of nodes) ts.forEachChild(node, (child) => void nodes.push(child));
  return nodes;
}

function importsOf(source: SourceText): readonly Import[] {
  const found: Import[] = [];
  for (const statement of parse(source).statements) {
    if (ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined) {
      found.push({ from: textOf(statement.moduleSpecifier), names: [], isTypeOnly: statement.isTypeOnly });
    }
    if (!ts.isImportDeclaration(statement)) continue;
    const clause = statement.importClause;
    const bindings = clause?.namedBindings;
    const elements = bindings !== undefined && ts.isNamedImports(bindings) ? bindings.elements : [];
    const names = elements.map(({ name, propertyName }) => (propertyName ?? name).text);
    const isTypeOnly =
      clause?.phaseModifier === ts.SyntaxKind.TypeKeyword ||
      (elements.length > 0 && clause?.name === undefined && elements.every((element) => element.isTypeOnly));
    found.push({ from: textOf(statement.moduleSpecifier), names, isTypeOnly });
  }
  return found;
}

function textOf(specifier: ts.Expression): string {
  return ts.isStringLiteral(specifier) ? specifier.text : specifier.getText();
}

/** Relative imports as paths below src; packages as they are. */
function resolve(path: string, from: string): string {
  return from.startsWith('.') ? normalize(join(dirname(path), from)).replace(/\.js$/, '.ts') : from;
}

/** Everything that a file loads when it runs, directly or not. */
function reachedFrom(start: string, sources: readonly SourceText[]): ReadonlyMap<string, string> {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const reached = new Map<string, string>([[start, start]]);
  for (const [path, way] of reached) {
    const source = byPath.get(path);
    if (source === undefined) continue;
    for (const { from, isTypeOnly } of importsOf(source)) {
      const target = resolve(path, from);
      if (!isTypeOnly && !reached.has(target)) reached.set(target, `${way} > ${target}`);
    }
  }
  return reached;
}

/** Files and packages that loading `start` loads. What is imported while it runs (`await import`) is not among them. */
export function loadedBy(start: string, sources: readonly SourceText[]): ReadonlySet<string> {
  return new Set(reachedFrom(start, sources).keys());
}

const isIn = (path: string, ...folders: readonly string[]) => folders.some((folder) => path.startsWith(`${folder}/`));

/** What can open a transaction, or write to an outbox. */
const DATABASE = /^(pg|pg-.*|typeorm|@baton\/(storage-postgres|migrations|engine))$|^(storage|journal)\/(?!errors\.ts)/;

/** I12: code that calls user code cannot reach anything that opens a transaction, so no step runs inside of one. */
export function stepsOutsideTransactions(sources: readonly SourceText[]): readonly Finding[] {
  const found: Finding[] = [];
  for (const source of sources) {
    if (!callsUserCode(source)) continue;
    const rule = 'step-outside-transaction';
    if (!isIn(source.path, 'executor', 'platform', 'definition')) {
      found.push({ rule, path: source.path, what: 'calls run or compensate of a step: only the executor does' });
    }
    for (const [target, way] of reachedFrom(source.path, sources)) {
      if (!isIn(source.path, 'executor')) break;
      if (DATABASE.test(target)) found.push({ rule, path: source.path, what: `reaches the database: ${way}` });
    }
  }
  return found;
}

/** Whoever knows what a step is and reads its functions. */
function callsUserCode(source: SourceText): boolean {
  const knowsSteps = importsOf(source).some(({ names }) => names.some((name) => /^Saga(Step|Resolver)?$/.test(name)));
  if (!knowsSteps) return false;
  return nodesOf(parse(source)).some((node) => {
    if (ts.isPropertyAccessExpression(node))
      return USER_CODE.has(node.name.text) && node.expression.kind !== ts.SyntaxKind.ThisKeyword;
    return ts.isBindingElement(node) && USER_CODE.has((node.propertyName ?? node.name).getText());
  });
}

const USER_CODE = new Set(['run', 'compensate']);

/** Writing to the journal is the runtime's alone; others get the least port that does for them. */
export function journalHolders(sources: readonly SourceText[]): readonly Finding[] {
  return sources.flatMap((source) => {
    if (isIn(source.path, 'journal', 'storage', 'runtime') || source.path === 'index.ts') return [];
    // Core has a `Journal` of its own: an entry that the state machine writes.
    const names = importsOf(source).flatMap(({ from, names: all }) => (from.startsWith('.') ? all : []));
    return names
      .filter((name) => name === 'JournalCore' || name === 'Journal')
      .map((name) => ({ rule: 'journal-holder', path: source.path, what: `imports ${name}` }));
  });
}

/** Leases are renewed by the executor alone, and only there is something that can renew them. */
export function heartbeatsInExecutor(sources: readonly SourceText[]): readonly Finding[] {
  return sources.flatMap((source) => {
    if (isIn(source.path, 'executor', 'journal', 'storage', 'platform', 'definition')) return [];
    const calls = nodesOf(parse(source)).filter(
      (node) =>
        ts.isCallExpression(node) &&
        ts.isPropertyAccessExpression(node.expression) &&
        node.expression.name.text === 'heartbeat',
    );
    return calls.map((node) => ({
      rule: 'heartbeat',
      path: source.path,
      what: `calls ${node.getText().slice(0, 60)}`,
    }));
  });
}

/** A drive begins with a lead, and leads come from the gate: nobody else makes one, or drives. */
export function drivesBehindGate(sources: readonly SourceText[]): readonly Finding[] {
  const rule = 'leader-gate';
  return sources.flatMap((source) => {
    const findings: Finding[] = [];
    for (const node of nodesOf(parse(source))) {
      if (!ts.isPropertyAccessExpression(node)) continue;
      const text = node.getText();
      if (/(^|\.)acquireLead$/.test(text) && !['runtime/shared-lead.ts'].includes(source.path)) {
        findings.push({ rule, path: source.path, what: 'asks the gate past SharedLead' });
      }
      if (/(^|\.)driver\.begin$/.test(text) && !['runtime/claimer.ts', 'runtime/session.ts'].includes(source.path)) {
        findings.push({ rule, path: source.path, what: 'begins a drive' });
      }
    }
    if (source.path !== 'runtime/session.ts' && source.path !== 'runtime/driver.ts' && makesDriver(source)) {
      findings.push({ rule, path: source.path, what: 'makes a driver' });
    }
    return findings;
  });
}

function makesDriver(source: SourceText): boolean {
  return nodesOf(parse(source)).some((node) => ts.isNewExpression(node) && node.expression.getText() === 'Driver');
}

/** Diagnostics of a snippet that is compiled as if it stood in `src`. */
export function compile(src: string, snippet: string): readonly string[] {
  const file = join(src, 'planted.ts');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    customConditions: ['@baton/source'],
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const read = host.readFile.bind(host);
  const exists = host.fileExists.bind(host);
  const getSourceFile = host.getSourceFile.bind(host);
  host.readFile = (path) => (relative(path, file) === '' ? snippet : read(path));
  host.fileExists = (path) => relative(path, file) === '' || exists(path);
  host.getSourceFile = (path, version) =>
    relative(path, file) === '' ? ts.createSourceFile(path, snippet, version, true) : getSourceFile(path, version);
  const program = ts.createProgram([file], options, host);
  return program
    .getSemanticDiagnostics(program.getSourceFile(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}
