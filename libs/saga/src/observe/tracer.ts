/** Names of spans never change: dashboards hold them. */
export type SagaSpanName = 'saga.drive' | 'saga.step.run' | 'saga.step.compensate';

export interface SagaSpan {
  set(key: string, value: string | number): void;
  /** What the span is about has failed. A code, never a message. */
  fail(code: string): void;
}

/** Spans around what a runtime does. A span that is open while another one begins is its parent. */
export interface SagaTracer {
  /**
   * Runs `work` inside a span and ends it when `work` has settled.
   * `traceparent`: the trace that the run was started in (W3C); it is gone on with where no span is open.
   */
  span<T>(options: SagaSpanOptions, work: (span: SagaSpan) => Promise<T>): Promise<T>;
}

export interface SagaSpanOptions {
  readonly name: SagaSpanName;
  readonly fields: Readonly<Record<string, string | number>>;
  readonly traceparent: string | null;
}

const ignore = (): void => undefined;
const nopSpan: SagaSpan = { set: ignore, fail: ignore };

export const nopTracer: SagaTracer = { span: (_options, work) => work(nopSpan) };
