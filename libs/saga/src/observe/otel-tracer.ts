import {
  context,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Tracer,
} from '@opentelemetry/api';
import type { SagaSpan, SagaTracer } from './tracer.js';

/**
 * Spans through the API of OpenTelemetry: `saga.drive` around `saga.step.run` and `saga.step.compensate`, in the trace
 * that the run was started in. Costs next to nothing where no SDK is set up.
 */
export function otelTracer(tracer: Tracer = trace.getTracer('@baton/saga')): SagaTracer {
  return {
    span: ({ name, fields, traceparent }, work) =>
      tracer.startActiveSpan(name, { attributes: fields }, parentOf(traceparent), async (span) => {
        const told: SagaSpan = {
          set: (key, value) => void span.setAttribute(key, value),
          fail: (code) => void span.setStatus({ code: SpanStatusCode.ERROR, message: code }),
        };
        try {
          return await work(told);
        } finally {
          span.end();
        }
      }),
  };
}

/** A span that is open here comes first; else the trace of the start is gone on with. */
function parentOf(traceparent: string | null): Context {
  const active = context.active();
  if (trace.getSpanContext(active) !== undefined || traceparent === null) return active;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return active;
  const traceFlags = Number.parseInt(flags ?? '0', 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;
