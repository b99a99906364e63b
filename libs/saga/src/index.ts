export type * from './definition/types.js';
export type { Saga, SagaResolver, SagaStep } from './definition/saga.js';
export type * from './journal/status.js';
export type * from './journal/ports.js';
export { SagaError, type SagaErrorDetail, type SagaErrorKind } from './journal/errors.js';
export type * from './executor/types.js';
export type * from './observe/observer.js';
export type * from './leader/locker.js';
export { checkSagaConfig, defaultSagaConfig, type SagaConfig } from './runtime/config.js';
export { defineSaga, isSaga } from './definition/define-saga.js';
export type { SagaFaultCode } from './definition/faults.js';
export { SagaRegistry } from './definition/registry.js';
export {
  AttemptAborted,
  NonRetryableError,
  RawJson,
  rawJson,
  RetryLater,
  retryLater,
  TaskError,
  type AbortCause,
} from '@baton/execution';
export {
  guardObserver,
  nopObserver,
  observeWith,
  type GuardOptions,
  type GuardedObserver,
} from './observe/guard-observer.js';
export { SagaMetrics, type SagaBacklog, type SagaMetricsOptions } from './observe/metrics.js';
export { otelTracer } from './observe/otel-tracer.js';
export { postgresBacklog, type PostgresBacklogParts } from './observe/postgres-backlog.js';
export {
  nopTracer,
  type SagaSpan,
  type SagaSpanName,
  type SagaSpanOptions,
  type SagaTracer,
} from './observe/tracer.js';
export { inProcessLocker } from './leader/in-process-locker.js';
export { postgresLocker, type PostgresLocker, type PostgresLockerOptions } from './leader/postgres-locker.js';
export { publishSagas, type DefinitionPublisher, type PublishedOtherwise } from './definition/publish-sagas.js';
export { createJournal, type JournalOptions, type SagaJournal } from './journal/journal.js';
export {
  endKindOf,
  isTerminalSagaStatus,
  parseSagaEventKind,
  parseSagaStatus,
  sagaEventKinds,
  sagaStatuses,
  statusOfRun,
} from './journal/kinds.js';
export { openSagaStore, type SagaStoreOptions } from './storage/postgres-store.js';
export { openSagaEngine, type SagaEngineOptions } from './storage/open-engine.js';
export type * from './storage/saga-store.js';
export {
  parseSagaEvent,
  sagaEventNames,
  sagaEventType,
  type AnySagaEvent,
  type SagaEventName,
  type SagaEventOf,
  type SagaEventOptions,
  type SagaEventPayload,
  type StepCompletedEvent,
  type StepEventPayload,
} from './events/event-names.js';
export { SagaClient } from './client/client.js';
export { createSagaClient, type SagaClientOptions } from './client/create-client.js';
export type * from './client/types.js';
export { createSagaRuntime, type SagaRuntimeOptions } from './runtime/create-runtime.js';
export { SagaRuntime } from './runtime/saga-runtime.js';
export type { SagaRuntimeSettings } from './runtime/options.js';
export type { Dispatcher, RelayHook, StartSlot } from './runtime/dispatcher.js';
export type { GatewayOptions } from './platform/gateway-api.js';
export type { PlatformAddress } from './platform/options.js';
export {
  EventSubscriber,
  type EventHandler,
  type ReceivedEvent,
  type SubscriberSettings,
} from './events/subscriber.js';
export { createLocalSubscriber, createSubscriber, wakeAll, type SubscribeOptions } from './events/subscribe.js';
