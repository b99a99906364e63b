export { moveClock } from './clock.js';
export { createDatabase, defaultMajor, type TestDatabase, type TestDatabaseOptions } from './database.js';
export { kafkaBrokers } from './kafka.js';
export { eventually, type EventuallyOptions } from './eventually.js';
export { Platform, type PlatformOptions } from './platform/platform.js';
export { ServiceProcess, workspaceRoot, type ServiceSpec } from './platform/service-process.js';
export { keepResult } from './results.js';
export { type ArmedFault, type FaultOptions, type LateFault } from './faults/armed-faults.js';
export { startFaultProxy, type FaultProxy, type FaultProxyOptions } from './faults/fault-proxy.js';
export { startKafkaBehindProxy, type KafkaBehindProxy } from './faults/kafka-behind-proxy.js';
export {
  startTransactionPooler,
  type TransactionPooler,
  type TransactionPoolerOptions,
} from './pooler/transaction-pooler.js';
