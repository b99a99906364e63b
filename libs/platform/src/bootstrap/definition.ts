import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import type { Logger } from 'pino';
import type { AuthVerifier } from '../auth/verifier.js';
import type { BaseSettings } from '../config/common.js';
import type { ConfigOf, Settings } from '../config/settings.js';
import type { GrpcErrorMapper } from '../grpc/errors.js';
import type { GrpcEndpoint } from '../grpc/server.js';
import type { Readiness } from '../health/readiness.js';
import type { Lifecycle } from '../lifecycle/lifecycle.js';
import type { Metrics } from '../metrics/metrics.js';

export type ServiceConfig<S extends Settings> = ConfigOf<S> & ConfigOf<BaseSettings>;

/** What a service is built from. Also injectable in Nest by `PLATFORM`. */
export interface Platform<C = ConfigOf<BaseSettings>> {
  readonly name: string;
  readonly config: C;
  readonly logger: Logger;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly lifecycle: Lifecycle;
  readonly auth: AuthVerifier;
}

export interface GrpcDefinition {
  readonly endpoints: readonly GrpcEndpoint[];
  readonly errors: GrpcErrorMapper;
}

export interface HttpDefinition {
  readonly host: string;
  readonly port: number;
  /** Before routes are bound: body parsing, filters, middleware. */
  readonly configure?: (app: INestApplication) => void;
}

/** A service: its name, what it reads from the environment, its module, and where it listens. */
export interface ServiceDefinition<S extends Settings> {
  /** Also the label of its metrics and the `service` of its log lines. */
  readonly name: string;
  readonly adminPort: number;
  readonly settings: S;
  /** Checks that need several settings. Each problem names its variable first. */
  readonly check?: (config: ServiceConfig<S>) => readonly string[];
  /**
   * Builds everything. Resources register themselves: readiness checks, shutdown hooks, metrics. Loops are started by
   * Nest's `onApplicationBootstrap`, or by the caller of `onStarted`.
   */
  readonly module: (platform: Platform<ServiceConfig<S>>) => ModuleSource | Promise<ModuleSource>;
  /** Listeners that answer to callers with credentials: BATON_AUTH is checked for them. */
  readonly grpc?: (platform: Platform<ServiceConfig<S>>) => GrpcDefinition;
  readonly http?: (platform: Platform<ServiceConfig<S>>) => HttpDefinition;
}

export type ModuleSource = Type | DynamicModule;

export interface RunningService {
  readonly name: string;
  readonly adminPort: number;
  /** Ports that were really bound: `http`, and the names of the gRPC endpoints. */
  readonly ports: Readonly<Record<string, number>>;
  readonly platform: Platform;
  /** Orderly stop; true = everything ended in time and without an error. */
  stop(): Promise<boolean>;
}

/** Configuration that cannot work. Every problem at once, by name. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`configuration:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** An address that cannot be listened on. */
export class ListenError extends Error {
  constructor(address: string, reason: string) {
    super(`cannot listen on ${address}: ${reason}`);
    this.name = 'ListenError';
  }
}
