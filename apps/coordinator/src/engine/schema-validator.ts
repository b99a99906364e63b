import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

export interface SchemaIssue {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_COMPILED = 500;
const MAX_ISSUES = 50;
/** Larger inputs are told their first problem alone: the list of all could be larger than the input. */
const ALL_ISSUES_UP_TO_CHARS = 64 * 1024;

interface Compiled {
  readonly all: ValidateFunction;
  readonly first: ValidateFunction;
}

/**
 * JSON Schema for the inputs of runs. Strict, no remote references (there is nothing that would load one), compiled
 * once for each schema text: definition versions are immutable.
 */
export class SchemaValidator {
  private readonly compiled = new LRUCache<string, Compiled | readonly SchemaIssue[]>({ max: MAX_COMPILED });

  validate(schema: string, value: string): readonly SchemaIssue[] {
    const compiled = this.compile(schema);
    if (isIssues(compiled)) return compiled;
    const run = value.length <= ALL_ISSUES_UP_TO_CHARS ? compiled.all : compiled.first;
    if (run(JSON.parse(value))) return [];
    return (run.errors ?? []).slice(0, MAX_ISSUES).map(toIssue);
  }

  private compile(schema: string): Compiled | readonly SchemaIssue[] {
    const key = createHash('sha256').update(schema).digest('base64');
    let compiled = this.compiled.get(key);
    if (compiled === undefined) {
      compiled = compileSchema(schema);
      this.compiled.set(key, compiled);
    }
    return compiled;
  }
}

function compileSchema(text: string): Compiled | readonly SchemaIssue[] {
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) {
    return [{ pointer: '', code: 'SCHEMA_TOO_LARGE', message: `the schema has more than ${MAX_SCHEMA_BYTES} bytes` }];
  }
  try {
    const schema = JSON.parse(text) as object;
    return { all: newAjv(true).compile(schema), first: newAjv(false).compile(schema) };
  } catch (error) {
    return [{ pointer: '', code: 'SCHEMA_INVALID', message: `the schema cannot be used: ${(error as Error).message}` }];
  }
}

/** A compiler for each schema: two definitions may use the same $id. */
function newAjv(allErrors: boolean): Ajv {
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors, addUsedSchema: false });
  addFormats.default(ajv);
  return ajv;
}

function isIssues(compiled: Compiled | readonly SchemaIssue[]): compiled is readonly SchemaIssue[] {
  return Array.isArray(compiled);
}

function toIssue(error: ErrorObject): SchemaIssue {
  const missing = error.keyword === 'required' ? `/${String(error.params['missingProperty'])}` : '';
  return {
    pointer: error.instancePath + missing,
    code: error.keyword.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
    message: error.message ?? 'is not valid',
  };
}
