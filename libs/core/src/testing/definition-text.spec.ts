import * as fc from 'fast-check';
import type { TemplateCompiler } from '../definition/model.js';
import { parseDefinition } from '../definition/parse.js';
import { anyDag } from './arbitraries.js';
import { template } from './definitions.js';
import { definitionText } from './definition-text.js';

const anyTemplates: TemplateCompiler = {
  compile: () => ({ ok: true, template: template({}, () => 'null'), warnings: [] }),
};

it('writes a random graph as a text that reads as the same graph', () => {
  fc.assert(
    fc.property(anyDag, (dag) => {
      const parsed = parseDefinition(definitionText(dag), anyTemplates);
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
      expect(withoutTemplates(parsed.dag.spec)).toEqual(withoutTemplates(dag.spec));
      expect(parsed.dag.order).toEqual(dag.order);
    }),
    { numRuns: 50 },
  );
});

/** Functions cannot be compared: there or not. */
function withoutTemplates(spec: object): unknown {
  return JSON.parse(JSON.stringify(spec, (key, value: unknown) => (isTemplate(key) ? value !== null : value)));
}

function isTemplate(key: string): boolean {
  return key === 'input' || key === 'output';
}
