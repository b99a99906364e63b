import { registryV1 } from '@baton/contracts';
import {
  databaseUrlSetting,
  portSetting,
  type Platform,
  type ServiceConfig,
  type ServiceDefinition,
} from '@baton/platform';
import { RegistryModule } from './registry.module.js';
import { toGrpcReply } from './rpc/errors.js';

export const registrySettings = {
  databaseUrl: databaseUrlSetting,
  grpcPort: portSetting('BATON_GRPC_PORT', 7403, 'port of RegistryService'),
};

export type RegistryPlatform = Platform<ServiceConfig<typeof registrySettings>>;

/** Publishes, validates, versions and deploys definitions. */
export const definitionRegistry: ServiceDefinition<typeof registrySettings> = {
  name: 'definition-registry',
  adminPort: 9082,
  settings: registrySettings,
  module: (platform) => RegistryModule.for(platform),
  grpc: ({ config }) => ({
    endpoints: [
      { name: 'grpc', host: config.bindHost, port: config.grpcPort, services: [registryV1.RegistryServiceService] },
    ],
    errors: toGrpcReply,
  }),
};
