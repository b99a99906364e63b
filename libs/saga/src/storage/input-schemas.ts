import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { JsonSchemaValidator, SchemaIssue } from '@baton/engine';

const MAX_ISSUES = 50;

/**
 * Checks the inputs of sagas. The schemas are those of the process's own sagas, so they are few and trusted: compiled once
 * each, kept for good, and not bounded in time as the coordinator bounds those of its tenants.
 */
export function inputSchemas(): JsonSchemaValidator {
  const compiled = new Map<string, ValidateFunction | readonly SchemaIssue[]>();
  return {
    validate(schema, value) {
      let check = compiled.get(schema);
      if (check === undefined) compiled.set(schema, (check = compile(schema)));
      if (typeof check !== 'function') return check;
      return check(JSON.parse(value)) ? [] : (check.errors ?? []).slice(0, MAX_ISSUES).map(toIssue);
    },
  };
}

function compile(text: string): ValidateFunction | readonly SchemaIssue[] {
  // As the registry of the platform compiles it: what works here works there.
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, logger: false, allErrors: true });
  addFormats.default(ajv);
  try {
    return ajv.compile(JSON.parse(text) as object);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ pointer: '', code: 'SCHEMA_INVALID', message: `the schema cannot be used: ${why}` }];
  }
}

function toIssue({ keyword, params, instancePath, message }: ErrorObject): SchemaIssue {
  const missing = keyword === 'required' ? `/${String((params as { missingProperty?: unknown }).missingProperty)}` : '';
  const code = keyword.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return { pointer: instancePath + missing, code, message: message ?? 'is not valid' };
}
