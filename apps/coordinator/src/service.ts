import { internalV1, runV1, workerV1 } from '@baton/contracts';
import {
  countSetting,
  databaseUrlSetting,
  portSetting,
  type Platform,
  type ServiceConfig,
  type ServiceDefinition,
} from '@baton/platform';
import { CoordinatorModule } from './coordinator.module.js';
import { toGrpcReply } from './errors.js';

export const coordinatorSettings = {
  databaseUrl: databaseUrlSetting,
  grpcPort: portSetting('BATON_GRPC_PORT', 7401, 'port of WorkerService and RunService (gRPC)'),
  internalPort: portSetting(
    'BATON_INTERNAL_PORT',
    7402,
    "port for Baton's own services (gRPC); no tenant may reach it",
  ),
  lanes: countSetting(
    'BATON_ENGINE_LANES',
    { min: 1, max: 64, fallback: 1 },
    'batches that are committed side by side; one for each two cores of this process',
  ),
};

export type CoordinatorConfig = ServiceConfig<typeof coordinatorSettings>;
export type CoordinatorPlatform = Platform<CoordinatorConfig>;

/** Owns runs: lock, decide, persist, commit. */
export const coordinator: ServiceDefinition<typeof coordinatorSettings> = {
  name: 'coordinator',
  adminPort: 9081,
  settings: coordinatorSettings,
  module: (platform) => CoordinatorModule.for(platform),
  grpc: ({ config }) => ({
    endpoints: [
      {
        name: 'public',
        host: config.bindHost,
        port: config.grpcPort,
        services: [workerV1.WorkerServiceService, runV1.RunServiceService],
      },
      {
        name: 'internal',
        host: config.bindHost,
        port: config.internalPort,
        services: [internalV1.InternalServiceService],
      },
    ],
    errors: toGrpcReply,
  }),
};
