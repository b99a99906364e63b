import { storable } from '../json/storable.js';
import type { Failure } from './state.js';

const MAX_CODE_LENGTH = 128;
const MAX_MESSAGE_LENGTH = 4_000;

/**
 * A worker's words made storable: bounded, without NUL and lone surrogates. A failure is never refused for its text:
 * the report would come again for ever (B67).
 */
export function cleanFailure(failure: Failure, nodeId: string): Failure {
  return {
    code: storable(failure.code, MAX_CODE_LENGTH) || 'TASK_FAILED',
    message: storable(failure.message, MAX_MESSAGE_LENGTH),
    nodeId,
  };
}
