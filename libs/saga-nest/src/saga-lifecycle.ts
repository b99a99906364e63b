import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { SagaError, SagaRuntime } from '@baton/saga';
import { SAGA_OPTIONS, type SagaModuleOptions } from './options.js';

/**
 * The runtime lives as long as the application: it starts when everything has been initialised, drains before anything is
 * torn down, and closes its connections at the end. Shutdown hooks must be on (`app.enableShutdownHooks()`), or
 * `app.close()` be called.
 */
@Injectable()
export class SagaLifecycle implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly log = new Logger('Sagas');

  constructor(
    private readonly runtime: SagaRuntime,
    @Inject(SAGA_OPTIONS) private readonly options: SagaModuleOptions,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.options.autoStart !== false) await this.runtime.start();
  }

  /** A step that does not end in time must not keep the others of the application from shutting down: it is told. */
  async beforeApplicationShutdown(): Promise<void> {
    try {
      await this.runtime.stop(this.options.stopDeadlineMs);
    } catch (error) {
      if (!(error instanceof SagaError)) throw error;
      this.log.error(error.message);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.runtime.close(0);
  }
}
