import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { createHash } from 'node:crypto';
import { createContext, Script } from 'node:vm';
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

/** Keywords whose check may take time out of all proportion to the sizes of schema and input. */
const UNBOUNDED = /"(?:pattern|patternProperties|uniqueItems|\$ref)":/;
/** The others take time in proportion to their product. Below this it costs less than watching it. */
const UNWATCHED_PRODUCT = 4_000_000;
const MAX_CHECK_MS = 1_000;

interface Compiled {
  readonly all: ValidateFunction;
  readonly first: ValidateFunction;
  readonly isUnbounded: boolean;
}

/**
 * JSON Schema for the inputs of runs. Strict, no remote references (there is nothing that would load one), compiled
 * once for each schema text: definition versions are immutable. Bounded in time: a tenant's pattern must not stop the
 * process for everybody (I14).
 */
export class SchemaValidator {
  private readonly compiled = new LRUCache<string, Compiled | readonly SchemaIssue[]>({ max: MAX_COMPILED });

  validate(schema: string, value: string): readonly SchemaIssue[] {
    const compiled = this.compile(schema);
    if (isIssues(compiled)) return compiled;
    const run = value.length <= ALL_ISSUES_UP_TO_CHARS ? compiled.all : compiled.first;
    const input: unknown = JSON.parse(value);
    const isWatched = compiled.isUnbounded || schema.length * value.length > UNWATCHED_PRODUCT;
    try {
      const valid = isWatched ? withinTime(() => run(input)) : run(input);
      if (valid === 'timeout') return [TOO_SLOW];
      return valid ? [] : (run.errors ?? []).slice(0, MAX_ISSUES).map(toIssue);
    } catch (error) {
      return [unusable(error)]; // a reference that leads to itself, without end
    }
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

const TOO_SLOW: SchemaIssue = {
  pointer: '',
  code: 'SCHEMA_TOO_SLOW',
  message: `the input could not be checked within ${MAX_CHECK_MS} ms`,
};

const BOUNDED = new Script('check()');
const SCOPE: { check?: () => boolean } = {};
const CONTEXT = createContext(SCOPE);

/** The only way to stop a synchronous check, a regular expression among them, is to run it as a script with a timeout. */
function withinTime(check: () => boolean): boolean | 'timeout' {
  SCOPE.check = check;
  try {
    return BOUNDED.runInContext(CONTEXT, { timeout: MAX_CHECK_MS }) as boolean;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'timeout';
    throw error;
  } finally {
    delete SCOPE.check;
  }
}

function compileSchema(text: string): Compiled | readonly SchemaIssue[] {
  if (Buffer.byteLength(text) > MAX_SCHEMA_BYTES) {
    return [{ pointer: '', code: 'SCHEMA_TOO_LARGE', message: `the schema has more than ${MAX_SCHEMA_BYTES} bytes` }];
  }
  try {
    const schema = JSON.parse(text) as object;
    // Written anew, so that no spelling of a keyword goes unseen.
    const isUnbounded = UNBOUNDED.test(JSON.stringify(schema));
    const all = newAjv(true).compile(schema);
    // Its answer is a promise: true for every input, and a rejection that nobody hears.
    if ('$async' in all) throw new Error('$async is not supported');
    return { all, first: newAjv(false).compile(schema), isUnbounded };
  } catch (error) {
    return [unusable(error)];
  }
}

function unusable(error: unknown): SchemaIssue {
  return { pointer: '', code: 'SCHEMA_INVALID', message: `the schema cannot be used: ${(error as Error).message}` };
}

/** A compiler for each schema: two definitions may use the same $id. */
function newAjv(allErrors: boolean): Ajv {
  // As the registry compiles it at publish: what was accepted there must work here.
  const options = {
    strict: true,
    strictTypes: false,
    strictRequired: false,
    addUsedSchema: false,
    logger: false,
  } as const;
  const ajv = new Ajv({ ...options, allErrors });
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
