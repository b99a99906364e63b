import { type DynamicModule, Module } from '@nestjs/common';
import { templateCompiler } from '@baton/expressions';
import { RegistryController } from './rpc/registry.controller.js';
import type { RegistryPlatform } from './service.js';
import { Database } from './storage/database.js';
import { DefinitionStore } from './storage/definition-store.js';
import { DefinitionChecker } from './validation/definition-checker.js';

@Module({})
export class RegistryModule {
  static for(platform: RegistryPlatform): DynamicModule {
    const database = new Database(platform.config.databaseUrl, platform.logger);
    platform.readiness.addCheck('database', () => database.whyNotReady());
    platform.lifecycle.onShutdown('storage', 'database', () => database.close());
    return {
      module: RegistryModule,
      controllers: [RegistryController],
      providers: [
        { provide: DefinitionStore, useValue: new DefinitionStore(database) },
        { provide: DefinitionChecker, useValue: new DefinitionChecker(templateCompiler) },
      ],
    };
  }
}
