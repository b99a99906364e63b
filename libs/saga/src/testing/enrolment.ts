import ts from 'typescript';
import type { SourceText } from './architecture.js';

/** Ports that have one conformance suite. What makes one of them must run it. */
const PORTS = /\b(SagaStore|SagaJournal|Journal|JournalCore|MemorySagaStore)\b/;

/** Functions and classes of the sources that make an implementation of the ports, by name. */
export function implementationsOf(sources: readonly SourceText[]): readonly string[] {
  const found = new Set<string>();
  for (const { path, text } of sources) {
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2024, true);
    for (const node of file.statements) {
      if (ts.isFunctionDeclaration(node) && isExported(node) && makes(node.type)) found.add(node.name?.text ?? path);
      if (ts.isClassDeclaration(node) && isExported(node) && implementsPort(node)) found.add(node.name?.text ?? path);
      if (!ts.isVariableStatement(node) || !isExported(node)) continue;
      for (const { name, initializer } of node.declarationList.declarations) {
        const isMaker = initializer !== undefined && ts.isArrowFunction(initializer) && makes(initializer.type);
        if (isMaker) found.add(name.getText());
      }
    }
  }
  return [...found].sort();
}

function isExported(node: ts.HasModifiers): boolean {
  return ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

function makes(type: ts.TypeNode | undefined): boolean {
  const text = type?.getText() ?? '';
  return PORTS.test(text.replace(/^Promise<(.*)>$/, '$1')) && !text.includes('[');
}

function implementsPort(node: ts.ClassDeclaration): boolean {
  return node.heritageClauses?.some((clause) => PORTS.test(clause.getText())) === true;
}

/** Names that specs which run the suite load, directly or by a helper of theirs. */
export function enrolledIn(specs: readonly SourceText[], helpers: readonly SourceText[]): ReadonlySet<string> {
  const running = specs.filter(({ text }) => /\bdescribeJournal\(/.test(text));
  const names = new Set<string>();
  for (const { text } of running) for (const name of importedNames(text)) names.add(name);
  for (const { text } of helpers) {
    const isOurs = exportedNames(text).some((name) => names.has(name));
    if (isOurs) for (const name of importedNames(text)) names.add(name);
  }
  return names;
}

function importedNames(text: string): readonly string[] {
  const lists = [...text.matchAll(/import\s+(?:type\s+)?\{([^}]*)\}/g)].map(([, list = '']) => list);
  return lists.flatMap((list) => list.split(',').map((name) => name.trim().replace(/^type /, '')));
}

function exportedNames(text: string): readonly string[] {
  return [...text.matchAll(/export\s+(?:async\s+)?(?:function|class|const)\s+(\w+)/g)].map(([, name = '']) => name);
}
