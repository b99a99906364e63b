import type { EngineHooks } from '@baton/engine';
import type { SagaObserver } from './observer.js';

/** Whether another attempt follows is decided by the engine: it tells, once for each retry, where it was committed. */
export function observeRetries(observer: SagaObserver): Pick<EngineHooks, 'onTaskRetried'> {
  if (observer.retry === undefined) return {};
  return {
    onTaskRetried: ({ runId, definitionId, nodeId, kind, attempt, backoffMs, code }) =>
      void observer.retry?.({ runId, sagaId: definitionId, step: nodeId, kind, attempt, backoffMs, code }),
  };
}
