import type { Dag, JsonText, Refusal } from '@baton/core';
import { assertNever } from '@baton/core';
import { EngineError } from '../api.js';
import type { JsonSchemaValidator, SchemaIssue } from '../options.js';

/** A refusal of the state machine, in the words of the engine's callers. */
export function refusalError(refusal: Refusal): EngineError {
  const details = (refusal.nodes ?? []).map((node) => ({ pointer: '', code: refusal.code, message: node }));
  return new EngineError(kindOf(refusal.code), refusal.code, refusal.message, { details });
}

function kindOf(code: Refusal['code']): EngineError['kind'] {
  switch (code) {
    case 'RUN_TERMINAL':
    case 'NOT_RETRYABLE':
    case 'UNDONE_NODES':
    case 'UNRESOLVED_UNDO':
    case 'NODE_NOT_IN_VERSION':
    case 'NEW_NODE_UPSTREAM':
    case 'ALREADY_COMPENSATING':
    case 'NOTHING_TO_COMPENSATE':
    case 'TOO_MANY_SIGNALS':
      return 'precondition';
    case 'SIGNAL_CONFLICT':
      return 'conflict';
    case 'NODE_NOT_FOUND':
    case 'INPUT_INVALID':
      return 'invalid';
    default:
      return assertNever(code);
  }
}

/** The run's input against the schema of the version that it is for. */
export function inputError(schemas: JsonSchemaValidator, dag: Dag, input: JsonText | null): EngineError | null {
  const schema = dag.spec.inputSchema;
  if (schema === null) return null;
  let issues: readonly SchemaIssue[];
  try {
    issues = schemas.validate(schema, input ?? 'null');
  } catch (cause) {
    // It must not take a whole batch, of other tenants too, with it.
    return new EngineError('internal', 'INPUT_CHECK_FAILED', 'the input could not be checked', { cause });
  }
  if (issues.length === 0) return null;
  return new EngineError('invalid', 'INPUT_INVALID', 'the input does not match the schema of the definition', {
    details: issues,
  });
}
