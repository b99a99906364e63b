export {
  Compensate,
  Saga,
  Step,
  WaitFor,
  type CompensateOptions,
  type SagaDecoratorOptions,
  type StepOptions,
  type WaitForOptions,
} from './decorators.js';
export type { SagaModuleOptions } from './options.js';
export { SagaHealthIndicator, type SagaHealth } from './saga-health.js';
export { SagaModule, type SagaModuleAsyncOptions } from './saga.module.js';
