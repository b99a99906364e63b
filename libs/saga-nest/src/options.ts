import type { Saga, SagaRuntimeOptions } from '@baton/saga';

export const SAGA_OPTIONS = Symbol('SAGA_OPTIONS');

export type SagaModuleOptions = Omit<SagaRuntimeOptions, 'registry'> & {
  /** Sagas made with `defineSaga`, besides those of the providers. */
  readonly sagas?: readonly Saga[];
  /** false: the application calls `SagaRuntime.start` itself. */
  readonly autoStart?: boolean;
  /** How long running steps may go on when the application shuts down. Milliseconds, default 30 s. */
  readonly stopDeadlineMs?: number;
};
