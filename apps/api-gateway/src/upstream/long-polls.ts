import type { runV1 } from '@baton/contracts';
import type { RunClient } from './run-client.js';
import type { CallContext } from './unary.js';

/** Questions that wait. When this process stops they are answered at once, with the run as it is. */
export class LongPolls {
  private readonly ending = new AbortController();

  constructor(private readonly runs: Pick<RunClient, 'result'>) {}

  endAll(): void {
    this.ending.abort();
  }

  async result(request: runV1.GetRunResultRequest, context: CallContext): Promise<runV1.GetRunResultResponse> {
    const asItIs = { ...request, waitMs: 0n };
    if (this.ending.signal.aborted) return this.runs.result(asItIs, context);
    const signal = AbortSignal.any([context.signal, this.ending.signal]);
    try {
      return await this.runs.result(request, { ...context, signal });
    } catch (error) {
      if (!this.ending.signal.aborted || context.signal.aborted) throw error;
      return this.runs.result(asItIs, context);
    }
  }
}
