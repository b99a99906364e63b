export type * from './definition/types.js';
export type { Saga, SagaResolver, SagaStep } from './definition/saga.js';
export type * from './journal/status.js';
export type * from './journal/ports.js';
export { SagaError, type SagaErrorDetail, type SagaErrorKind } from './journal/errors.js';
export type * from './executor/types.js';
export type * from './observe/observer.js';
export type * from './leader/locker.js';
export { checkSagaConfig, defaultSagaConfig, type SagaConfig } from './runtime/config.js';
