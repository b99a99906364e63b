import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { INestApplication, INestApplicationContext, LoggerService } from '@nestjs/common';
import { NestFactory, Reflector } from '@nestjs/core';
import { Logger as NestLogger } from 'nestjs-pino';
import { createAuthVerifier, checkAuthSettings } from '../auth/verifier.js';
import { baseSettings } from '../config/common.js';
import { describeConfig, type Environment, loadConfig, type Settings } from '../config/settings.js';
import { AdminServer } from '../health/admin-server.js';
import { Readiness } from '../health/readiness.js';
import { Lifecycle } from '../lifecycle/lifecycle.js';
import { createLogger } from '../logging/logger.js';
import { Metrics } from '../metrics/metrics.js';
import { flushTelemetry } from '../telemetry/preload.js';
import {
  ConfigError,
  type HttpDefinition,
  type Platform,
  type RunningService,
  type ServiceConfig,
  type ServiceDefinition,
} from './definition.js';
import { PlatformModule } from './platform-module.js';

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);
const NEST_OPTIONS = { bufferLogs: true, abortOnError: false } as const;

/** Reads the configuration; throws ConfigError with every problem. */
export function readConfig<S extends Settings>(service: ServiceDefinition<S>, env: Environment): ServiceConfig<S> {
  const settings = { ...baseSettings({ adminPort: service.adminPort }), ...service.settings };
  const loaded = loadConfig(settings, env);
  if (!loaded.ok) throw new ConfigError(loaded.problems.map(({ variable, message }) => `${variable}: ${message}`));
  const config = loaded.config as ServiceConfig<S>;
  const answersCallers = service.grpc !== undefined || service.http !== undefined;
  const problems = [...(answersCallers ? checkAuthSettings(config) : []), ...(service.check?.(config) ?? [])];
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/**
 * Starts a service inside this process: configuration, logs, admin port, module, listeners, readiness, in this order.
 * Signals and exit codes belong to `bootstrapService`; tests call this.
 */
export async function startService<S extends Settings>(
  service: ServiceDefinition<S>,
  env: Environment,
  beforeReady: () => void = () => undefined,
): Promise<RunningService> {
  const startedAt = performance.now();
  const config = readConfig(service, env);
  const platform = createPlatform(service, config);
  const { logger, readiness, lifecycle } = platform;
  logger.info({ config: describeConfig({ ...baseSettings(service), ...service.settings }, config) }, 'starting');
  const admin = new AdminServer({ service: service.name, readiness, metrics: platform.metrics });
  const adminPort = await admin.listen(config.bindHost, config.adminPort);
  try {
    const ports = await openApplication(service, platform);
    beforeReady();
    readiness.markStarted();
    logger.info({ admin_port: adminPort, ports, took_ms: Math.round(performance.now() - startedAt) }, 'started');
    return { name: service.name, adminPort, ports, platform, stop: () => stopService(platform, admin) };
  } catch (error) {
    await lifecycle.shutdown();
    await admin.close();
    throw error;
  }
}

function createPlatform<S extends Settings>(
  service: ServiceDefinition<S>,
  config: ServiceConfig<S>,
): Platform<ServiceConfig<S>> {
  const logger = createLogger({ service: service.name, level: config.logLevel });
  const metrics = new Metrics(service.name);
  metrics.collectProcessMetrics();
  const readiness = new Readiness();
  metrics.gauge({
    name: 'ready',
    help: '1 = no check refuses traffic',
    collect: async () => Number((await readiness.report()).ready),
  });
  const lifecycle = new Lifecycle(logger, config.shutdownTimeoutMs);
  const answersCallers = service.grpc !== undefined || service.http !== undefined;
  const auth = createAuthVerifier(answersCallers ? config : { ...config, auth: 'none' }, logger);
  if (answersCallers && auth.mode === 'none' && !LOOPBACK.has(config.bindHost)) {
    logger.warn({ bind_host: config.bindHost }, 'BATON_AUTH=none: everybody who reaches this address is an admin');
  }
  lifecycle.onShutdown('storage', 'api keys', () => auth.close());
  lifecycle.onShutdown('flush', 'telemetry', () => flushTelemetry());
  return { name: service.name, config, logger, readiness, metrics, lifecycle, auth };
}

async function openApplication<S extends Settings>(
  service: ServiceDefinition<S>,
  platform: Platform<ServiceConfig<S>>,
): Promise<Record<string, number>> {
  const module = PlatformModule.around(platform as Platform, await service.module(platform));
  if (service.grpc !== undefined) return openGrpc(service.grpc(platform), platform as Platform, module);
  if (service.http !== undefined) return openHttp(service.http(platform), platform as Platform, module);
  const app = await NestFactory.createApplicationContext(module, NEST_OPTIONS);
  app.useLogger(frameworkLogs(app.get(NestLogger)));
  closeWithServers(platform as Platform, app);
  return {};
}

type RootModule = ReturnType<typeof PlatformModule.around>;

async function openGrpc(
  definition: import('./definition.js').GrpcDefinition,
  platform: Platform,
  module: RootModule,
): Promise<Record<string, number>> {
  // Loaded only by services that need it: each megabyte counts five times.
  const { GrpcServers } = await import('../grpc/server.js');
  const { GrpcErrorFilter } = await import('../grpc/filter.js');
  const { GrpcAuthGuard } = await import('../grpc/auth-guard.js');
  const { GrpcMetricsInterceptor } = await import('../grpc/metrics-interceptor.js');
  const servers = new GrpcServers({
    endpoints: definition.endpoints,
    reflection: platform.config.nodeEnv !== 'production',
    drainMs: Math.floor(platform.config.shutdownTimeoutMs * 0.6),
  });
  const app = await NestFactory.createMicroservice(module, { ...NEST_OPTIONS, strategy: servers });
  app.useLogger(frameworkLogs(app.get(NestLogger)));
  app.useGlobalFilters(new GrpcErrorFilter(definition.errors, platform.logger));
  app.useGlobalInterceptors(new GrpcMetricsInterceptor(platform.metrics));
  app.useGlobalGuards(new GrpcAuthGuard(platform.auth, app.get(Reflector)));
  platform.lifecycle.onShutdown('intake', 'gRPC health', () => servers.announceStop());
  closeWithServers(platform, app);
  await app.listen();
  return Object.fromEntries(definition.endpoints.map(({ name }) => [name, servers.port(name)]));
}

async function openHttp(
  definition: HttpDefinition,
  platform: Platform,
  module: RootModule,
): Promise<Record<string, number>> {
  const app: INestApplication = await NestFactory.create(module, { ...NEST_OPTIONS, bodyParser: false });
  app.useLogger(frameworkLogs(app.get(NestLogger)));
  definition.configure?.(app);
  closeWithServers(platform, app);
  await app.listen(definition.port, definition.host);
  const address = app.getHttpServer().address() as AddressInfo;
  return { http: address.port };
}

/** What Nest says about its own wiring, line by line, is for debugging; its warnings and errors are for everybody. */
function frameworkLogs(logs: NestLogger): LoggerService {
  return {
    log: (message: unknown, ...rest: unknown[]) => logs.debug(message, ...rest),
    warn: (message: unknown, ...rest: unknown[]) => logs.warn(message, ...rest),
    error: (message: unknown, ...rest: unknown[]) => logs.error(message, ...rest),
    fatal: (message: unknown, ...rest: unknown[]) => logs.fatal(message, ...rest),
    debug: (message: unknown, ...rest: unknown[]) => logs.verbose(message, ...rest),
  };
}

/** Nest closes its listeners, then runs its own destroy hooks. */
function closeWithServers(platform: Platform, app: INestApplicationContext): void {
  platform.lifecycle.onShutdown('servers', 'listeners', () => app.close());
}

async function stopService(platform: Platform, admin: AdminServer): Promise<boolean> {
  platform.readiness.markDraining();
  const outcome = await platform.lifecycle.shutdown();
  await admin.close();
  return outcome.clean;
}
