import type { StepResult } from '../../executor/types.js';
import type { ClaimedStep } from '../../journal/ports.js';
import type { RunningAttempt, StepRunner } from '../parts.js';

interface Begun {
  readonly step: ClaimedStep;
  readonly end: (result: StepResult) => void;
  isAborted: boolean;
}

/** Steps that end when the test says so. */
export class HandRunner implements StepRunner {
  readonly begun: Begun[] = [];
  /** Names of the steps that began, in order. */
  readonly ran: string[] = [];
  /** What an aborted step does: says that it was stopped, or goes on (wedged). */
  reactsToAbort = true;
  /** Ends each step at once with this. */
  result: StepResult | null = null;

  begin(step: ClaimedStep): RunningAttempt {
    const { promise, resolve } = Promise.withResolvers<StepResult>();
    const begun: Begun = { step, end: resolve, isAborted: false };
    this.begun.push(begun);
    this.ran.push(step.nodeId);
    if (this.result !== null) resolve(this.result);
    return {
      result: promise,
      abort: () => {
        begun.isAborted = true;
        if (this.reactsToAbort) resolve({ outcome: 'canceled', reason: 'stopping', started: true });
      },
    };
  }

  get names(): readonly string[] {
    return this.ran;
  }

  finish(nodeId: string, result: StepResult = { outcome: 'succeeded', output: 'null' }): void {
    const begun = this.begun.findLast(({ step }) => step.nodeId === nodeId);
    if (begun === undefined) throw new Error(`${nodeId} has not begun`);
    begun.end(result);
  }
}
