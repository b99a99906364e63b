export {
  type AbortCause,
  AttemptAborted,
  NonRetryableError,
  RawJson,
  rawJson,
  RetryLater,
  retryLater,
  TaskError,
} from '@baton/execution';
export { consoleLogger, silentLogger, type WorkerLogger } from './logger.js';
export { type TaskContext, type TaskHandler } from './context.js';
export { createWorker, type Worker, type WorkerHealth, type WorkerHooks, type WorkerOptions } from './worker.js';
