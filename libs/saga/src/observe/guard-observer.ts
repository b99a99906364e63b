import type { Clock } from '../executor/types.js';
import type { SagaLogger, SagaObserver } from './observer.js';

export interface GuardOptions {
  /** How long an observer may take to settle what it returned before that is told. Milliseconds, default 5000. */
  readonly deadlineMs?: number;
  /** Calls of one callback that may be unsettled at once; more are dropped and counted. Default 100. */
  readonly maxPending?: number;
  readonly clock: Clock;
  readonly logger: SagaLogger;
}

export interface GuardedObserver extends SagaObserver {
  /** Calls that were not made because too many were unsettled. */
  readonly dropped: number;
}

export const nopObserver: SagaObserver = {};

const CALLBACKS = ['outcome', 'retry', 'heartbeatFailure', 'tick', 'drive', 'leaderSkip'] as const;
type CallbackName = (typeof CALLBACKS)[number];

/**
 * Stands between a runtime and somebody's observer.
 *
 * B1. Nothing that the observer throws or rejects with reaches the runtime. It is logged by its name alone: its text may
 *     hold what the observer was told.
 * B2. The runtime never waits for it.
 * B3. A callback that does not settle costs no timer beyond its deadline, and at most `maxPending` promises in all: an
 *     observer that hangs for ever is called so many times and no more (W20).
 */
export function guardObserver(observer: SagaObserver | null | undefined, options: GuardOptions): GuardedObserver {
  const guards = CALLBACKS.flatMap((name) =>
    typeof observer?.[name] === 'function' ? [new CallbackGuard(name, observer, options)] : [],
  );
  return {
    ...Object.fromEntries(guards.map((guard) => [guard.name, (facts: object) => guard.call(facts)])),
    get dropped() {
      return guards.reduce((sum, guard) => sum + guard.dropped, 0);
    },
  };
}

class CallbackGuard {
  dropped = 0;
  private pending = 0;

  constructor(
    readonly name: CallbackName,
    private readonly observer: SagaObserver,
    private readonly options: GuardOptions,
  ) {}

  call(facts: object): void {
    if (this.pending >= (this.options.maxPending ?? MAX_PENDING)) return this.drop();
    try {
      const answer = (this.observer[this.name] as (facts: object) => unknown)(facts);
      if (isThenable(answer)) this.watch(answer);
    } catch (error) {
      this.failed(error);
    }
  }

  private watch(answer: PromiseLike<unknown>): void {
    const { clock, logger, deadlineMs = DEADLINE_MS } = this.options;
    this.pending += 1;
    const stop = clock.after(deadlineMs, () => {
      const fields = { callback: this.name, deadline_ms: deadlineMs, pending: this.pending };
      logger.warn(fields, 'an observer does not settle; nobody waits for it');
    });
    const settled = () => {
      stop();
      this.pending -= 1;
    };
    Promise.resolve(answer).then(settled, (error: unknown) => {
      settled();
      this.failed(error);
    });
  }

  private failed(error: unknown): void {
    this.options.logger.warn({ callback: this.name, error: nameOf(error) }, 'an observer failed');
  }

  /** Told at each power of two: a dead observer must not fill the log. */
  private drop(): void {
    this.dropped += 1;
    if ((this.dropped & (this.dropped - 1)) !== 0) return;
    const fields = { callback: this.name, dropped: this.dropped, pending: this.pending };
    this.options.logger.error(fields, 'an observer has too many calls that do not settle: it is not called');
  }
}

const DEADLINE_MS = 5_000;
const MAX_PENDING = 100;

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

/** Of the class, never of the message. */
export function nameOf(error: unknown): string {
  try {
    return error instanceof Error ? error.constructor.name : typeof error;
  } catch {
    return 'unknown';
  }
}

/** One observer that tells several, each on its own: one that throws keeps nothing from the others. */
export function observeWith(observers: readonly SagaObserver[]): SagaObserver {
  if (observers.length === 1 && observers[0] !== undefined) return observers[0];
  const combined: Partial<Record<CallbackName, (facts: never) => unknown>> = {};
  for (const name of CALLBACKS) {
    const told = observers.filter((observer) => typeof observer[name] === 'function');
    if (told.length === 0) continue;
    combined[name] = (facts: never) => void told.forEach((observer) => observer[name]?.(facts));
  }
  return combined as SagaObserver;
}
