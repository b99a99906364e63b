import { join } from 'node:path';
import { logFileOf, type Layout } from './layout.js';
import type { PlatformPorts } from './ports.js';
import type { LibraryAddresses, PlatformAddresses } from './state.js';

export interface ServiceSpec {
  readonly name: string;
  readonly script: string;
  readonly logFile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly adminPort?: number;
  /** Needs a broker, so it starts only when there is one. */
  readonly needsKafka: boolean;
}

const HOST = '127.0.0.1';

export function addressesOf(ports: PlatformPorts, databaseUrl: string, brokers: string): PlatformAddresses {
  return {
    gateway: `http://${HOST}:${ports.gateway}`,
    coordinator: `${HOST}:${ports.coordinator}`,
    registry: `${HOST}:${ports.registry}`,
    databaseUrl,
    brokers,
  };
}

export interface ServiceContext {
  readonly layout: Layout;
  readonly ports: PlatformPorts;
  readonly addresses: PlatformAddresses;
}

/** Library mode: the example service, which has the runtime inside. */
export function embeddedSagaSpec(layout: Layout, port: number, databaseUrl: string): ServiceSpec {
  return {
    name: 'embedded-saga',
    script: join(layout.project, 'examples', 'embedded-saga', 'dist', 'main.js'),
    logFile: logFileOf(layout, 'embedded-saga'),
    env: { ...commonEnvironment(layout), BATON_DATABASE_URL: databaseUrl, BATON_HTTP_PORT: String(port) },
    // It answers /readyz beside its orders.
    adminPort: port,
    needsKafka: false,
  };
}

export function libraryAddressesOf(port: number, databaseUrl: string): LibraryAddresses {
  return { embeddedSaga: `http://${HOST}:${port}`, databaseUrl };
}

/** The five services and the demo worker fleet, each a process of its own. */
export function serviceSpecs({ layout, ports, addresses }: ServiceContext): readonly ServiceSpec[] {
  const common = commonEnvironment(layout);
  const database = { BATON_DATABASE_URL: addresses.databaseUrl };
  const kafka = { BATON_KAFKA_BROKERS: addresses.brokers };
  const service = (app: string, adminPort: number, env: NodeJS.ProcessEnv): ServiceSpec => ({
    name: app,
    script: join(layout.project, 'apps', app, 'dist', 'main.js'),
    logFile: logFileOf(layout, app),
    env: { ...common, BATON_ADMIN_PORT: String(adminPort), ...env },
    adminPort,
    needsKafka: 'BATON_KAFKA_BROKERS' in env,
  });
  return [
    service('coordinator', ports.coordinatorAdmin, {
      ...database,
      BATON_GRPC_PORT: String(ports.coordinator),
      BATON_INTERNAL_PORT: String(ports.coordinatorInternal),
    }),
    service('definition-registry', ports.registryAdmin, { ...database, BATON_GRPC_PORT: String(ports.registry) }),
    service('api-gateway', ports.gatewayAdmin, {
      BATON_HTTP_PORT: String(ports.gateway),
      BATON_COORDINATOR_URL: addresses.coordinator,
      BATON_REGISTRY_URL: addresses.registry,
    }),
    service('timer-service', ports.timerAdmin, {
      ...database,
      BATON_INTERNAL_URL: `${HOST}:${ports.coordinatorInternal}`,
    }),
    service('outbox-relay', ports.relayAdmin, { ...database, ...kafka }),
    {
      name: 'demo-workers',
      script: join(layout.project, 'examples', 'order-fulfilment', 'dist', 'main.js'),
      logFile: logFileOf(layout, 'demo-workers'),
      env: { ...common, ...kafka, BATON_COORDINATOR_URL: addresses.coordinator },
      needsKafka: true,
    },
  ];
}

/**
 * The caller's environment without its own BATON_ settings, which are meant for the caller and would reach every
 * service alike (a single BATON_ADMIN_PORT for five), and without its NODE_OPTIONS.
 */
function commonEnvironment(layout: Layout): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => name !== 'NODE_OPTIONS' && (!name.startsWith('BATON_') || name === 'BATON_LOG_LEVEL'),
  );
  return {
    ...Object.fromEntries(inherited),
    BATON_AUTH: 'none',
    NODE_ENV: 'development',
    // Compiled code is kept between starts: a service is ready sooner.
    NODE_COMPILE_CACHE: layout.compileCache,
  };
}
