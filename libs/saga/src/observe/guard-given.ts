import type { SagaLogger } from './observer.js';
import { nopTracer, type SagaSpan, type SagaTracer } from './tracer.js';

/** A logger that throws (a full disk, a field that it cannot read) costs its line and nothing else. */
export function guardLogger(logger: SagaLogger): SagaLogger {
  const guarded = (level: keyof SagaLogger) => (fields: object, message: string) =>
    ignoringFaults(() => logger[level](fields, message));
  return { debug: guarded('debug'), info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}

/** It is told after commits: what it throws is not the fault of what was committed. */
export function guardRelay(relay: { kick(): void }, logger: SagaLogger): { kick(): void } {
  return {
    kick: () => {
      try {
        relay.kick();
      } catch (error) {
        logger.warn({ err: error }, 'the relay could not be told; it finds the events at its next look');
      }
    },
  };
}

/** The work is done once, inside a span or without one, and ends as it ends: whatever the tracer does or does not do. */
export function guardTracer(tracer: SagaTracer, logger: SagaLogger): SagaTracer {
  if (tracer === nopTracer) return tracer;
  return {
    span: <T>(options: Parameters<SagaTracer['span']>[0], work: (span: SagaSpan) => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        let running: Promise<T> | undefined;
        const begin = (span: SagaSpan): Promise<T> => {
          if (running === undefined) {
            running = work(span);
            running.then(resolve, reject);
          }
          return running;
        };
        const without = (error: unknown): void => {
          // Of work that has begun the rejection is the work's own, and told by it.
          if (running !== undefined) return;
          logger.warn({ err: error, span: options.name }, 'the tracer failed');
          void nopTracer.span(options, begin).catch(() => undefined);
        };
        try {
          tracer
            .span(options, (span) => begin(guardSpan(span)))
            .then(() => without(new Error('the tracer did not run what it was given')), without);
        } catch (error) {
          without(error);
        }
      }),
  };
}

function guardSpan(span: SagaSpan): SagaSpan {
  return {
    set: (key, value) => ignoringFaults(() => span.set(key, value)),
    fail: (code) => ignoringFaults(() => span.fail(code)),
  };
}

function ignoringFaults(call: () => void): void {
  try {
    call();
  } catch {
    // There is nobody left to tell.
  }
}
