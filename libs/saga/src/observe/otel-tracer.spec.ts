import { context, trace, type Tracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { TracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { StepExecutor } from '../executor/step-executor.js';
import { TaskError } from '@baton/execution';
import { fakeClock } from '../testing/fake-clock.js';
import { claimedStep, FakeHeartbeater, recordingLogger, sagaOf } from '../testing/steps.js';
import { observeRetries } from './engine-hooks.js';
import { otelTracer } from './otel-tracer.js';
import type { SagaTracer } from './tracer.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;

describe('spans', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const tracer: Tracer = provider.getTracer('test');

  beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => context.disable());
  beforeEach(() => exporter.reset());

  const executorWith = (sagaTracer: SagaTracer) => {
    const times = { leaseDurationMs: 30_000, heartbeatIntervalMs: 10_000 };
    const logger = recordingLogger();
    return new StepExecutor({
      heartbeater: new FakeHeartbeater(),
      times,
      clock: fakeClock(),
      logger,
      tracer: sagaTracer,
    });
  };

  it('of a step lie in that of its drive, in the trace of the start, and user code adds its own', async () => {
    const spans = otelTracer(tracer);
    const run = () => {
      trace.getSpan(context.active())?.addEvent('by the step');
      return 1;
    };
    const step = claimedStep({ traceparent });
    await spans.span({ name: 'saga.drive', fields: { 'saga.run_id': 'run-1' }, traceparent }, async () => {
      await executorWith(spans).begin(step, sagaOf({ run })).result;
    });
    const [stepSpan, driveSpan] = exporter.getFinishedSpans();
    expect(stepSpan).toMatchObject({
      name: 'saga.step.run',
      attributes: { 'saga.run_id': 'run-1', 'saga.id': 'order', 'saga.step': 'charge', 'saga.outcome': 'succeeded' },
      events: [{ name: 'by the step' }],
    });
    expect(stepSpan?.parentSpanContext?.spanId).toBe(driveSpan?.spanContext().spanId);
    expect(driveSpan).toMatchObject({ name: 'saga.drive', parentSpanContext: { spanId: 'b7ad6b7169203331' } });
    expect(driveSpan?.spanContext().traceId).toBe(TRACE);
  });

  it('of an undo that failed say so by its code', async () => {
    const compensate = () => {
      throw new TaskError('BANK_DOWN', 'secret');
    };
    await executorWith(otelTracer(tracer)).begin(claimedStep({ kind: 'compensate' }), sagaOf({ compensate })).result;
    expect(exporter.getFinishedSpans()).toMatchObject([
      { name: 'saga.step.compensate', status: { message: 'BANK_DOWN' }, attributes: { 'saga.outcome': 'failed' } },
    ]);
  });

  it('that a broken tracer makes keep no step from its result', async () => {
    for (const broken of [
      { span: () => Promise.reject(new Error('before')) },
      {
        span: async (_options: unknown, work: (span: { set(): void; fail(): void }) => Promise<unknown>) => {
          await work({ set: () => undefined, fail: () => undefined });
          throw new Error('after');
        },
      },
    ]) {
      const run = jest.fn(() => 1);
      const { result } = executorWith(broken as SagaTracer).begin(claimedStep(), sagaOf({ run }));
      expect(await result).toEqual({ outcome: 'succeeded', output: '1' });
      expect(run).toHaveBeenCalledTimes(1);
    }
  });
});

describe('retries', () => {
  it('E14: are told by the engine, once for each, with what comes', () => {
    const retry = jest.fn();
    const hooks = observeRetries({ retry });
    const task = { namespace: 'default', runId: 'r', definitionId: 'order', taskId: 't', nodeId: 'charge' };
    hooks.onTaskRetried?.({ ...task, kind: 'forward', attempt: 2, backoffMs: 200, code: 'X' });
    expect(retry.mock.calls).toEqual([
      [{ runId: 'r', sagaId: 'order', step: 'charge', kind: 'forward', attempt: 2, backoffMs: 200, code: 'X' }],
    ]);
    expect(observeRetries({})).toEqual({});
  });
});
