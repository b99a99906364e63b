export { type Phase } from './attach.js';
export { noMetrics, type RelayMetrics } from './metrics.js';
export { OutboxRelay, type RelayOptions, type RelayStatus } from './relay.js';
