export { ActiveRole, type RoleOptions } from './active-role.js';
export type { DueScan } from './due.js';
export { createEventReader, type EventPage, type EventReader, type OutboxEvent } from './events.js';
export { createLibraryStore, type Backlog, type LibraryStore, type RunLock } from './library-store.js';
export {
  DEFAULT_POOL_SIZE,
  DEFAULT_TIMEOUTS,
  sessionSettings,
  type PoolOptions,
  type SessionTimeouts,
} from './pool.js';
export {
  publishDefinitionOn,
  type DeployOnPublish,
  type NewDefinition,
  type PublishedDefinition,
} from './publish-definition.js';
export { readDefinition, readRunStates } from './run-reader.js';
export { writeStartOn, type SqlExecutor } from './start-on.js';
export { createPostgresStore } from './store.js';
export { createTimerStore, type TimerStore } from './timer-store.js';
