import { jsonPointer, type PathSegment } from '@baton/core';
import { SagaError, type SagaErrorDetail } from '../journal/errors.js';

/** Stable codes of what can be wrong with a saga; documented, so none is ever renamed. */
export type SagaFaultCode =
  | 'WRONG_TYPE'
  | 'UNKNOWN_FIELD'
  | 'INVALID_NAME'
  | 'OUT_OF_RANGE'
  | 'BAD_DURATION'
  | 'INTERVALS_INVERTED'
  | 'NO_STEPS'
  | 'TOO_MANY_STEPS'
  | 'DUPLICATE_STEP'
  | 'RUN_MISSING'
  | 'NOT_COMPENSATED'
  | 'UNKNOWN_STEP'
  | 'DUPLICATE_AFTER'
  | 'CYCLE';

export type Path = readonly PathSegment[];

/** Collects everything that is wrong: nobody should have to repair one fault to hear of the next. */
export class FaultList {
  readonly details: SagaErrorDetail[] = [];

  add(code: SagaFaultCode | (string & {}), path: Path | string, message: string): void {
    this.details.push({ pointer: typeof path === 'string' ? path : jsonPointer(path), code, message });
  }

  /** K2: two steps of one name are a conflict; everything else is invalid, also if there is both. */
  throwIfAny(of: string): void {
    if (this.details.length === 0) return;
    const kind = this.details.every(({ code }) => code === 'DUPLICATE_STEP') ? 'conflict' : 'invalid';
    const all = this.details.map(({ pointer, message }) => `${pointer || '/'}: ${message}`).join('; ');
    throw new SagaError(kind, 'SAGA_INVALID', `${of} is not a valid saga: ${all}`, { details: this.details });
  }
}
