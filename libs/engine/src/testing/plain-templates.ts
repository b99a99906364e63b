import type { JsonText, Template, TemplateCompiler, TemplateScope } from '@baton/core';

/**
 * The least of a template language, for tests: text in which `"${input}"` and `"${nodes.<id>.output}"` stand for whole
 * values. What a test sees of templates is which facts they need.
 */
export const plainTemplates: TemplateCompiler = {
  compile: (source) => ({ ok: true, template: plainTemplate(source), warnings: [] }),
};

const hole = /"\$\{(?:input|nodes\.([A-Za-z0-9_-]+)\.output)\}"/g;

function plainTemplate(source: JsonText): Template {
  const found = [...source.matchAll(hole)];
  const nodes = found.map((match) => match[1]).filter((nodeId): nodeId is string => nodeId !== undefined);
  return {
    usesInput: found.some((match) => match[1] === undefined),
    nodes,
    references: nodes.map((nodeId) => ({ nodeId, pointer: '' })),
    render: (scope) => ({ ok: true, text: source.replace(hole, (_all, nodeId?: string) => fill(scope, nodeId)) }),
  };
}

function fill(scope: TemplateScope, nodeId: string | undefined): JsonText {
  return (nodeId === undefined ? scope.input : scope.output(nodeId)) ?? 'null';
}
