import type { TaskKind } from '@baton/core';
import type { StepResult } from '../executor/types.js';
import type { StepReport } from '../journal/ports.js';

/** What the journal is told of an attempt. null = nothing: the lease is somebody else's. */
export function reportOf(kind: TaskKind, result: StepResult): StepReport | null {
  switch (result.outcome) {
    case 'succeeded':
      return { kind: kind === 'forward' ? 'step_completed' : 'step_compensated', output: result.output };
    case 'failed':
      return failureReport(kind, result);
    case 'expired':
      // Whether it is tried again is the policy's: TIMEOUT is in `nonRetryable` unless the saga says otherwise.
      return failureReport(kind, { failure: result.failure, retryable: true });
    case 'canceled':
      return result.reason === 'deferred'
        ? { kind: 'step_deferred', delayMs: result.delayMs }
        : // W4: interrupted is not failed, and R13: the next attempt goes out at once.
          { kind: 'step_released', notStarted: !result.started };
    case 'lease_lost':
      return null;
  }
}

type Failed = Pick<Extract<StepReport, { kind: 'step_failed' }>, 'failure' | 'retryable'>;

function failureReport(kind: TaskKind, { failure, retryable }: Failed): StepReport {
  return { kind: kind === 'forward' ? 'step_failed' : 'step_compensation_failed', failure, retryable };
}

/**
 * W8: what the journal cannot store would be run again for ever. The attempt fails instead, for good, with a code that
 * says so; its effect may be there, so its own undo runs too.
 */
export function rejectedReport(kind: TaskKind, nodeId: string): StepReport {
  const failure = { code: 'REPORT_REJECTED', message: 'the result of the step cannot be stored', nodeId };
  return failureReport(kind, { failure, retryable: false });
}
