import { type DynamicModule, Module } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import type { ModuleSource, Platform } from './definition.js';

/** Injection token of the Platform. */
export const PLATFORM = Symbol('baton.platform');

/** Root of every service: the platform's parts for all, and the service's own module. */
@Module({})
export class PlatformModule {
  static around(platform: Platform, service: ModuleSource): DynamicModule {
    return {
      module: PlatformModule,
      global: true,
      // Request logs are written by the edges themselves, with run_id and without payloads.
      imports: [LoggerModule.forRoot({ pinoHttp: { logger: platform.logger, autoLogging: false } }), service],
      providers: [{ provide: PLATFORM, useValue: platform }],
      exports: [PLATFORM],
    };
  }
}
