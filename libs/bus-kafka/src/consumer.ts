import type { BusConsumer, BusConsumerOptions } from './consumer-port.js';

export function createBusConsumer(options: BusConsumerOptions): BusConsumer {
  throw new Error(`not implemented: ${options.clientId}`);
}
