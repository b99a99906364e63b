import type { Clock } from '../executor/types.js';
import { SagaError } from '../journal/errors.js';
import type { Appended, ClaimedStep, JournalCore, StepLease, StepReport, TakeNext } from '../journal/ports.js';
import type { SagaLogger } from '../observe/observer.js';
import { rejectedReport } from './reports.js';
import { stepFields } from '../executor/step-fields.js';

export interface ReporterParts {
  readonly journal: Pick<JournalCore, 'append'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: SagaLogger;
  readonly leaseMs: number;
}

/** lost: the attempt is not ours any more. unreported: nobody could be told; the lease runs out and it is run again. */
export type Reported =
  | { readonly kind: 'appended'; readonly appended: Appended }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unreported' };

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Brings what an attempt came to into the journal.
 * P1. A transient error is repeated for as long as the lease may live: the same report again has no second effect (R14).
 * P2. Content that cannot be stored condemns the attempt, once, and never the runtime (R8, W8).
 * P3. A lost lease is no error: whoever has it now records what he sees.
 */
export class Reporter {
  private isGivingUp = false;
  private readonly wakeSleepers = new Set<() => void>();

  constructor(private readonly parts: ReporterParts) {}

  async append(step: ClaimedStep, report: StepReport, take: TakeNext | undefined): Promise<Reported> {
    const { clock, leaseMs } = this.parts;
    const until = clock.now() + leaseMs;
    let content = report;
    for (let tries = 0; ; tries += 1) {
      try {
        return { kind: 'appended', appended: await this.parts.journal.append(leaseOf(step), content, take) };
      } catch (error) {
        const fault = faultOf(error);
        if (fault === 'lost') return this.lost(step, error);
        if (fault === 'rejected') {
          if (content !== report) return this.unreported(step, error);
          this.log('error', step, error, 'the result of a step cannot be stored: the attempt has failed');
          content = rejectedReport(step.kind, step.nodeId);
          continue;
        }
        if (fault === 'refused' || this.isGivingUp || clock.now() >= until) return this.unreported(step, error);
        this.log('warn', step, error, 'a report could not be recorded and will be repeated');
        await this.pause(tries);
      }
    }
  }

  /** The time to stop is over: no report is repeated any more. */
  giveUp(): void {
    this.isGivingUp = true;
    for (const wake of this.wakeSleepers) wake();
  }

  private lost(step: ClaimedStep, error: unknown): Reported {
    this.log('info', step, error, 'the lease of a step was lost before its report');
    return { kind: 'lost' };
  }

  private unreported(step: ClaimedStep, error: unknown): Reported {
    this.log('error', step, error, 'a report could not be recorded: the step will be run again when its lease is over');
    return { kind: 'unreported' };
  }

  private log(level: 'info' | 'warn' | 'error', step: ClaimedStep, error: unknown, message: string): void {
    this.parts.logger[level]({ ...stepFields(step), err: error }, message);
  }

  private async pause(tries: number): Promise<void> {
    const full = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(tries, 20));
    const ms = full * (0.5 + this.parts.random() / 2);
    await new Promise<void>((resolve) => {
      const end = () => {
        stopTimer();
        this.wakeSleepers.delete(end);
        resolve();
      };
      const stopTimer = this.parts.clock.after(ms, end);
      this.wakeSleepers.add(end);
    });
  }
}

function leaseOf({ runId, taskId, nodeId, attempt, leaseId }: ClaimedStep): StepLease {
  return { runId, taskId, nodeId, attempt, leaseId };
}

function faultOf(error: unknown): 'lost' | 'rejected' | 'refused' | 'transient' {
  if (!(error instanceof SagaError)) return 'transient';
  switch (error.kind) {
    case 'not-found':
      return 'lost';
    case 'conflict':
      // Anything else is about the run: it is stuck, and repeating would not help it (R8).
      return error.code === 'STALE_LEASE' ? 'lost' : 'refused';
    case 'invalid':
      return 'rejected';
    default:
      return 'transient';
  }
}
