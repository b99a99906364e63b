import { type DynamicModule, Module } from '@nestjs/common';
import { OpenApiController } from './openapi/openapi.controller.js';
import { DefinitionsController } from './rest/definitions.controller.js';
import { RunsController } from './rest/runs.controller.js';
import type { GatewayPlatform } from './service.js';
import { LongPolls } from './upstream/long-polls.js';
import { RegistryClient } from './upstream/registry-client.js';
import { RunClient } from './upstream/run-client.js';

@Module({})
export class GatewayModule {
  static for(platform: GatewayPlatform): DynamicModule {
    const runs = new RunClient(platform.config.coordinatorUrl);
    const registry = new RegistryClient(platform.config.registryUrl);
    const polls = new LongPolls(runs);
    platform.lifecycle.onShutdown('intake', 'long polls', () => polls.endAll());
    platform.readiness.addCheck('coordinator', () => runs.whyNotConnected());
    platform.readiness.addCheck('definition-registry', () => registry.whyNotConnected());
    platform.lifecycle.onShutdown('storage', 'gRPC clients', () => {
      runs.close();
      registry.close();
    });
    return {
      module: GatewayModule,
      controllers: [DefinitionsController, RunsController, OpenApiController],
      providers: [
        { provide: RunClient, useValue: runs },
        { provide: LongPolls, useValue: polls },
        { provide: RegistryClient, useValue: registry },
      ],
    };
  }
}
