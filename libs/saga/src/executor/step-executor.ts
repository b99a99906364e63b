import type { AbortCause } from '@baton/execution';
import type { Saga } from '../definition/saga.js';
import { SagaError } from '../journal/errors.js';
import type { ClaimedStep, Heartbeater } from '../journal/ports.js';
import type { SagaLogger, SagaObserver, StepFacts } from '../observe/observer.js';
import { nopTracer, type SagaSpan, type SagaTracer } from '../observe/tracer.js';
import { StepAttempt } from './attempt.js';
import { throwIfUnfit, unfitNumbers, unfitRatio, type LeaseTimes } from './lease-times.js';
import { stepFields } from './step-fields.js';
import type { Clock, StepResult } from './types.js';

export interface StepExecutorParts {
  /** The one thing that renews leases, and its one holder. */
  readonly heartbeater: Heartbeater;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  readonly logger: SagaLogger;
  /** Contained already (`guardObserver`): it neither throws nor hangs. */
  readonly observer?: SagaObserver;
  readonly tracer?: SagaTracer;
  /**
   * How long a step may take to react when its signal is aborted, before its slot is given to others. Milliseconds,
   * default 2000.
   */
  readonly abandonAfterMs?: number;
}

/** One attempt of one step under its lease, from begin to result. */
export interface RunningAttempt {
  /** Never rejects. The lease is renewed until then, and no longer. */
  readonly result: Promise<StepResult>;
  /** The process stops: the step's signal is aborted. The result comes soon, whether user code reacts or not. */
  abort(): void;
}

/**
 * Runs user code. Reports what it came to, once for each attempt (E14); decides nothing, retries nothing and writes
 * nothing: the next attempt is a row of the engine's, not a loop under a lease (W9).
 */
export class StepExecutor {
  private readonly tracer: SagaTracer;
  private readonly observer: SagaObserver;
  private readonly abandonAfterMs: number;
  private abandoned = 0;

  constructor(private readonly parts: StepExecutorParts) {
    for (const part of ['heartbeater', 'times', 'clock', 'logger'] as const) {
      const given: unknown = parts[part];
      if (given === undefined || given === null) throw new SagaError('invalid', 'PART_MISSING', `${part} is missing`);
    }
    const { times, abandonAfterMs = ABANDON_AFTER_MS } = parts;
    const unfit = [
      ...unfitNumbers(times, ['leaseDurationMs', 'heartbeatIntervalMs']),
      ...unfitNumbers({ abandonAfterMs }, ['abandonAfterMs']),
    ];
    throwIfUnfit(unfit.length > 0 ? unfit : unfitRatio(times));
    this.tracer = parts.tracer ?? nopTracer;
    this.observer = parts.observer ?? {};
    this.abandonAfterMs = abandonAfterMs;
  }

  /** Steps whose slot was given up and whose code still runs. Each holds memory until it ends. */
  get orphans(): number {
    return this.abandoned;
  }

  /**
   * Begins at once and never throws. `askedAt`: the clock's time before the claim was sent that brought the lease; the
   * lease cannot be older. Default: now, which is only right for a lease that was asked for a moment ago.
   */
  begin(claimed: ClaimedStep, saga: Saga, askedAt: number = this.parts.clock.now()): RunningAttempt {
    const { heartbeater, times, clock, logger } = this.parts;
    const facts = factsOf(claimed);
    const attempt = new StepAttempt({
      ...{ claimed, askedAt, heartbeater, times, clock, logger },
      step: saga.steps.get(claimed.nodeId),
      abandonAfterMs: this.abandonAfterMs,
      onBeatFailure: (reason) => void this.observer.heartbeatFailure?.({ ...facts, reason }),
      onAbandoned: (settled) => this.leaveAlone(claimed, settled),
    });
    return {
      result: this.observed(claimed, facts, attempt),
      abort: (cause: AbortCause = 'WORKER_STOPPING') => attempt.abort(cause),
    };
  }

  private async observed(claimed: ClaimedStep, facts: StepFacts, attempt: StepAttempt): Promise<StepResult> {
    const startedAt = this.parts.clock.now();
    const result = await this.traced(claimed, facts, attempt);
    const { outcome } = result;
    this.log(claimed, result);
    void this.observer.outcome?.({ ...facts, outcome, durationMs: this.parts.clock.now() - startedAt });
    return result;
  }

  private async traced(claimed: ClaimedStep, facts: StepFacts, attempt: StepAttempt): Promise<StepResult> {
    if (this.tracer === nopTracer) return attempt.run();
    const { runId, sagaId, step } = facts;
    const fields = { 'saga.run_id': runId, 'saga.id': sagaId, 'saga.step': step, 'saga.attempt': facts.attempt };
    const name = facts.kind === 'forward' ? 'saga.step.run' : 'saga.step.compensate';
    let result: StepResult | undefined;
    try {
      await this.tracer.span({ name, fields, traceparent: claimed.traceparent ?? null }, async (span) => {
        result = await attempt.run();
        describe(span, result);
      });
    } catch (error) {
      this.parts.logger.warn({ ...stepFields(claimed), err: error }, 'the tracer failed');
    }
    return result ?? attempt.run();
  }

  private log(claimed: ClaimedStep, result: StepResult): void {
    const { logger } = this.parts;
    const fields = { ...stepFields(claimed), outcome: result.outcome };
    switch (result.outcome) {
      case 'succeeded':
        return logger.debug(fields, 'a step ended');
      case 'failed':
      case 'expired':
        return logger.warn({ ...fields, code: result.failure.code, reason: result.failure.message }, 'a step ended');
      case 'canceled':
        return logger.info({ ...fields, reason: result.reason }, 'a step ended');
      case 'lease_lost':
        return logger.info(fields, 'a step ended');
    }
  }

  /** W20: user code cannot be stopped from outside. It is counted while it runs, and nobody waits for it. */
  private leaveAlone(claimed: ClaimedStep, settled: Promise<unknown>): void {
    this.abandoned += 1;
    const fields = stepFields(claimed);
    const { logger } = this.parts;
    logger.error({ ...fields, orphans: this.abandoned }, 'a step does not react to its abort: its slot is given up');
    void settled.then(() => {
      this.abandoned -= 1;
      logger.info({ ...fields, orphans: this.abandoned }, 'a step that was given up has ended; its result is ignored');
    });
  }
}

const ABANDON_AFTER_MS = 2_000;

function factsOf({ runId, definitionId, nodeId, kind, attempt }: ClaimedStep): StepFacts {
  return { runId, sagaId: definitionId, step: nodeId, kind, attempt };
}

function describe(span: SagaSpan, result: StepResult): void {
  span.set('saga.outcome', result.outcome);
  if (result.outcome === 'failed' || result.outcome === 'expired') span.fail(result.failure.code);
}
