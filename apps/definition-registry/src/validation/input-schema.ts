import type { DefinitionIssue, JsonText } from '@baton/core';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

const MAX_SCHEMA_BYTES = 64 * 1024;

/**
 * The `input` of a definition as JSON Schema, with the same rules that the coordinator checks inputs by: strict, and no
 * remote references, since there is nothing that would load one.
 */
export function checkInputSchema(schemaText: JsonText): readonly DefinitionIssue[] {
  if (Buffer.byteLength(schemaText) > MAX_SCHEMA_BYTES) {
    return [issue('INPUT_SCHEMA_TOO_LARGE', `the input schema is larger than ${MAX_SCHEMA_BYTES} bytes`)];
  }
  try {
    const validate = newAjv().compile(JSON.parse(schemaText) as object);
    return '$async' in validate ? [issue('INPUT_SCHEMA_INVALID', '$async is not supported')] : [];
  } catch (error) {
    return [issue('INPUT_SCHEMA_INVALID', error instanceof Error ? error.message : String(error))];
  }
}

/** A compiler for each schema: two definitions may use the same $id. */
function newAjv(): Ajv {
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, addUsedSchema: false, logger: false });
  addFormats.default(ajv);
  return ajv;
}

function issue(code: string, message: string): DefinitionIssue {
  return { severity: 'error', code, message, pointer: '/input' };
}
