import type { LaneProducer, LaneProducerOptions } from './producer-port.js';

export function createLaneProducer(options: LaneProducerOptions): LaneProducer {
  throw new Error(`not implemented: ${options.clientId}`);
}
