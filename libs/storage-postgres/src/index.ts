export type { DueScan } from './due.js';
export {
  DEFAULT_POOL_SIZE,
  DEFAULT_TIMEOUTS,
  sessionSettings,
  type PoolOptions,
  type SessionTimeouts,
} from './pool.js';
export { readDefinition, readRunStates } from './run-reader.js';
export { createPostgresStore } from './store.js';
export { createTimerStore, type TimerStore } from './timer-store.js';
