import { type DynamicModule, Module, type ModuleMetadata, type Provider } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { createSagaRuntime, SagaClient, SagaRegistry, SagaRuntime } from '@baton/saga';
import { SAGA_OPTIONS, type SagaModuleOptions } from './options.js';
import { discoverSagas } from './saga-discovery.js';
import { SagaHealthIndicator } from './saga-health.js';
import { SagaLifecycle } from './saga-lifecycle.js';

export interface SagaModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: readonly NonNullable<Extract<Provider, { inject?: unknown }>['inject']>[number][];
  readonly useFactory: (...args: never[]) => SagaModuleOptions | Promise<SagaModuleOptions>;
}

/**
 * Runs the sagas of an application: providers with `@Saga`, wherever they are, and those in the options. Global:
 * `SagaClient`, `SagaRuntime` and `SagaHealthIndicator` can be injected everywhere.
 */
@Module({})
export class SagaModule {
  static forRoot(options: SagaModuleOptions): DynamicModule {
    return moduleOf({ provide: SAGA_OPTIONS, useValue: options });
  }

  static forRootAsync({ imports, inject, useFactory }: SagaModuleAsyncOptions): DynamicModule {
    const provider: Provider = { provide: SAGA_OPTIONS, useFactory, inject: [...(inject ?? [])] };
    return moduleOf(provider, imports);
  }
}

function moduleOf(options: Provider, imports: ModuleMetadata['imports'] = []): DynamicModule {
  return {
    module: SagaModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [
      options,
      {
        provide: SagaRuntime,
        useFactory: (given: SagaModuleOptions, discovery: DiscoveryService) => runtimeOf(given, discovery),
        inject: [SAGA_OPTIONS, DiscoveryService],
      },
      { provide: SagaClient, useFactory: (runtime: SagaRuntime) => runtime.client, inject: [SagaRuntime] },
      SagaHealthIndicator,
      SagaLifecycle,
    ],
    exports: [SagaRuntime, SagaClient, SagaHealthIndicator],
  };
}

function runtimeOf(options: SagaModuleOptions, discovery: DiscoveryService): Promise<SagaRuntime> {
  const { sagas = [], autoStart: _autoStart, stopDeadlineMs: _stopDeadlineMs, ...rest } = options;
  return createSagaRuntime({ ...rest, registry: new SagaRegistry([...sagas, ...discoverSagas(discovery)]) });
}
