import type { SagaResolver } from '../definition/saga.js';
import type { SagaLogger } from '../observe/observer.js';
import type { GatewayOptions } from './gateway-api.js';

/** Where the platform is. */
export interface PlatformAddress extends GatewayOptions {
  /** Kafka, host:port. */
  readonly brokers: readonly string[];
  /** Coordinators (gRPC), host:port. */
  readonly coordinators: readonly string[];
}

export interface PlatformRuntimeOptions {
  readonly platform: PlatformAddress;
  /** The sagas that this process serves. */
  readonly registry: SagaResolver;
  /** Default `default`. With API keys: the namespace of the key. */
  readonly namespace?: string;
  /** Steps that run at once in this process. Default 20. */
  readonly concurrency?: number;
  readonly logger?: SagaLogger;
}

export interface PlatformClientOptions {
  readonly platform: GatewayOptions;
  /** Sagas that this process starts by their newest version. Not published: whoever serves them does that. */
  readonly registry?: SagaResolver;
  readonly namespace?: string;
}
