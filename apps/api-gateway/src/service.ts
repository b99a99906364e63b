import {
  coordinatorUrlSetting,
  grpcTarget,
  portSetting,
  registryUrlSetting,
  type Platform,
  type ServiceConfig,
  type ServiceDefinition,
} from '@baton/platform';
import { GatewayModule } from './gateway.module.js';
import { configureHttp } from './http/configure.js';

export const gatewaySettings = {
  httpPort: portSetting('BATON_HTTP_PORT', 8080, 'port of the REST API'),
  coordinatorUrl: coordinatorUrlSetting,
  registryUrl: registryUrlSetting,
};

export type GatewayConfig = ServiceConfig<typeof gatewaySettings>;
export type GatewayPlatform = Platform<GatewayConfig>;

/** HTTP edge: REST to gRPC. Holds no database and no state. */
export const apiGateway: ServiceDefinition<typeof gatewaySettings> = {
  name: 'api-gateway',
  adminPort: 9080,
  settings: gatewaySettings,
  check: (config) => [
    ...addressProblems('BATON_COORDINATOR_URL', config.coordinatorUrl),
    ...addressProblems('BATON_REGISTRY_URL', config.registryUrl),
  ],
  module: (platform) => GatewayModule.for(platform),
  http: (platform) => ({
    host: platform.config.bindHost,
    port: platform.config.httpPort,
    configure: (app) => configureHttp(app, platform),
  }),
};

function addressProblems(variable: string, addresses: readonly string[]): string[] {
  try {
    grpcTarget(addresses);
    return [];
  } catch (error) {
    return [`${variable}: ${(error as Error).message}`];
  }
}
