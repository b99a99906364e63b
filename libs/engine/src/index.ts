export type * from './api.js';
export type * from './ports.js';
export { EngineError } from './api.js';
export { FenceMissError, StoreError, commandKey } from './ports.js';
export { createEngine } from './engine.js';
export { defaultLimits } from './options.js';
export type {
  CommitFacts,
  Decide,
  EngineHooks,
  EngineLimits,
  EngineOptions,
  EventNames,
  JsonSchemaValidator,
  RunFacts,
  SchemaIssue,
  TaskFacts,
} from './options.js';
