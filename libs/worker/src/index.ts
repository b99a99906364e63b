export { type AbortCause, AttemptAborted, NonRetryableError, RetryLater, retryLater, TaskError } from './errors.js';
export { consoleLogger, silentLogger, type WorkerLogger } from './logger.js';
export { RawJson, rawJson } from './result.js';
export { type TaskContext, type TaskHandler } from './context.js';
export { createWorker, type Worker, type WorkerHealth, type WorkerHooks, type WorkerOptions } from './worker.js';
