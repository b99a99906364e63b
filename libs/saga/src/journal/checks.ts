import { checkPayload } from '@baton/core';
import { SagaError } from './errors.js';
import type { StepReport } from './ports.js';

export function invalid(code: string, message: string, pointer = ''): SagaError {
  return new SagaError('invalid', code, message, { details: [{ pointer, code, message }] });
}

export function checkPositive(value: number, name: string): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw invalid('NUMBER_INVALID', `${name} must be a whole number from 1`, `/${name}`);
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** What is no id at all names nothing: not found, and never an error of the database. */
export const isId = (text: string): boolean => UUID.test(text);

const REPORTS: Readonly<Record<StepReport['kind'], 'forward' | 'compensate' | 'any'>> = {
  step_completed: 'forward',
  step_failed: 'forward',
  step_compensated: 'compensate',
  step_compensation_failed: 'compensate',
  step_deferred: 'any',
  step_released: 'any',
};

/** Which kind of task may be reported so. Ends are written with the end and by nothing else (J3). */
export function kindReported(report: StepReport): 'forward' | 'compensate' | 'any' {
  const { kind } = report;
  if (Object.hasOwn(REPORTS, kind)) return REPORTS[kind];
  throw invalid('KIND_INVALID', `${JSON.stringify(kind)} is not for a holder to append`, '/kind');
}

/** null = it can be stored. */
export function faultOf(report: StepReport): SagaError | null {
  try {
    kindReported(report);
    if (report.kind === 'step_deferred' && !(report.delayMs >= 0)) {
      return invalid('NUMBER_INVALID', 'delayMs must not be negative', '/delayMs');
    }
  } catch (error) {
    if (error instanceof SagaError) return error;
    throw error;
  }
  const output = 'output' in report ? report.output : undefined;
  if (output === undefined) return null;
  const check = checkPayload(output);
  return check.ok ? null : invalid(check.code, check.message, '/output');
}
