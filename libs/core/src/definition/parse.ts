import type { ParsedDefinition, TemplateCompiler } from './spec.js';

/** Parses and checks the JSON text of a definition. All findings at once, each with a JSON pointer and a stable code. */
export function parseDefinition(_text: string, _templates: TemplateCompiler): ParsedDefinition {
  return { ok: false, issues: [] };
}
