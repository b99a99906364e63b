import type { SagaClient } from '../client/client.js';
import type { RuntimeCore } from './runtime.js';

/**
 * Runs the sagas of this process. Made by `createSagaRuntime`; a class only so that dependency injection has a token for
 * it.
 */
export abstract class SagaRuntime {
  /** Starts, signals and reads sagas of the same place. It works before the start and after a stop. */
  abstract readonly client: SagaClient;

  /** Resolves when the runtime runs; a new promise after each stop. Never rejects. */
  abstract readonly ready: Promise<void>;
  abstract readonly isRunning: boolean;

  /**
   * Publishes the sagas of the registry, then claims and runs their steps. Resolves when it runs.
   * Rejects with `ALREADY_STARTED` (conflict) unless it is stopped, with `DEFINITION_CHANGED` (conflict) when a version
   * was published with other steps, or with what is wrong with the database; it is stopped then.
   */
  abstract start(): Promise<void>;

  /**
   * Claims nothing more, lets running steps finish for `deadlineMs` (default 30 s), then aborts them. Rejects with
   * `SAGA_STOP_TIMEOUT` (deadline) if it came to that; the runtime is stopped all the same, and may be started again.
   */
  abstract stop(deadlineMs?: number): Promise<void>;

  /** `stop`, and then the connections end, whatever the stop came to. For good. */
  abstract close(deadlineMs?: number): Promise<void>;

  /** For readiness probes. Rejects with `SAGA_NOT_RUNNING` (unavailable), or with what is wrong with the tables. */
  abstract repoReady(): Promise<void>;

  /** Call it after the commit of a transaction in which a saga was started: this process looks at once. */
  abstract kick(): void;

  /** One look for claimable steps now, whatever the poll interval. Resolves when those that it took have begun. */
  abstract tick(): Promise<{ readonly claimed: number }>;
}

/** The runtime over a journal in this process: the core, its client, and what has to be closed. */
export class EmbeddedRuntime extends SagaRuntime {
  private closing: Promise<void> | undefined;

  constructor(
    private readonly core: RuntimeCore,
    readonly client: SagaClient,
    private readonly closeParts: () => Promise<void>,
  ) {
    super();
  }

  get ready(): Promise<void> {
    return this.core.ready;
  }

  get isRunning(): boolean {
    return this.core.isRunning;
  }

  start(): Promise<void> {
    return this.core.start();
  }

  stop(deadlineMs?: number): Promise<void> {
    return this.core.stop(deadlineMs);
  }

  /** Safe to call again: a service may close it by two ways. */
  async close(deadlineMs?: number): Promise<void> {
    try {
      await this.core.stop(deadlineMs);
    } finally {
      await (this.closing ??= this.closeParts());
    }
  }

  repoReady(): Promise<void> {
    return this.core.repoReady();
  }

  kick(): void {
    this.core.kick();
  }

  tick(): Promise<{ readonly claimed: number }> {
    return this.core.tick();
  }
}
