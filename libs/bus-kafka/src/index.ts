export { defaultTopicLayout, type BusConnection, type TopicLayout } from './connection.js';
export {
  type BusConsumer,
  type BusConsumerOptions,
  type ConsumedBatch,
  type ConsumedMessage,
  type ConsumerHealth,
  type ConsumerHooks,
} from './consumer-port.js';
export { createBusConsumer } from './consumer.js';
export { BusError, toBusError, type BusErrorKind } from './errors.js';
export { silentLog, type BusLog } from './log.js';
export { murmur2, partitionFor } from './murmur2.js';
export { createLaneProducer } from './producer.js';
export {
  type LaneAck,
  type LaneMessage,
  type LaneProducer,
  type LaneProducerOptions,
  type ProducerHooks,
} from './producer-port.js';
export { createTopicReader, type OnMessages, type PartitionRange, type TopicReader } from './topic-reader.js';
export { eventsTopic, parseTopic, taskTopic, type TopicName } from './topics.js';
