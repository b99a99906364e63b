import type { Worker, WorkerLogger } from '@baton/worker';
import type { SagaClient } from '../client/client.js';
import { publishSagas } from '../definition/publish-sagas.js';
import { SagaError } from '../journal/errors.js';
import type { SagaLogger } from '../observe/observer.js';
import { SagaRuntime } from '../runtime/saga-runtime.js';
import { stderrLogger } from '../runtime/stderr-logger.js';
import { GatewayApi } from './gateway-api.js';
import { GatewayPublisher } from './gateway-publisher.js';
import type { PlatformRuntimeOptions } from './options.js';
import { createPlatformClient } from './platform-client.js';
import { handlersOf } from './step-handlers.js';

const DEFAULT_STOP_DEADLINE_MS = 30_000;

/**
 * The same sagas, served by the platform: published to its registry, their steps run here by a worker. The worker, and
 * with it Kafka and gRPC, is loaded by the first start.
 */
export class PlatformSagaRuntime extends SagaRuntime {
  readonly client: SagaClient;
  private readonly logger: SagaLogger;
  private readonly api: GatewayApi;
  private state: 'stopped' | 'starting' | 'running' | 'stopping' = 'stopped';
  private worker: Worker | undefined;
  private becameReady = Promise.withResolvers<void>();

  constructor(private readonly options: PlatformRuntimeOptions) {
    super();
    this.client = createPlatformClient(options);
    this.logger = options.logger ?? stderrLogger;
    this.api = new GatewayApi(options.platform);
  }

  get ready(): Promise<void> {
    return this.becameReady.promise;
  }

  get isRunning(): boolean {
    return this.state === 'running';
  }

  async start(): Promise<void> {
    if (this.state !== 'stopped') {
      throw new SagaError('conflict', 'ALREADY_STARTED', `the saga runtime is ${this.state} already`);
    }
    this.state = 'starting';
    try {
      const { registry, namespace = 'default' } = this.options;
      await publishSagas(new GatewayPublisher(this.api), namespace, registry);
      this.worker = await this.createWorker();
      await this.worker.start();
    } catch (error) {
      this.state = 'stopped';
      throw error;
    }
    this.state = 'running';
    const sagas = this.options.registry.all().map(({ id, version }) => `${id}@${version}`);
    this.logger.info({ mode: 'platform', sagas }, 'the saga runtime has started');
    this.becameReady.resolve();
  }

  /** What does not end in time is given back, so there is nothing to tell of. */
  async stop(deadlineMs: number = DEFAULT_STOP_DEADLINE_MS): Promise<void> {
    if (this.state !== 'running') return this.worker?.stop(deadlineMs);
    this.state = 'stopping';
    this.becameReady = Promise.withResolvers<void>();
    await this.worker?.stop(deadlineMs);
    this.worker = undefined;
    this.state = 'stopped';
    this.logger.info({}, 'the saga runtime has stopped');
  }

  close(deadlineMs?: number): Promise<void> {
    return this.stop(deadlineMs);
  }

  repoReady(): Promise<void> {
    const health = this.worker?.health();
    if (this.isRunning && health?.joined === true) return Promise.resolve();
    const why = this.isRunning ? 'its worker has not joined the queues' : `it is ${this.state}`;
    return Promise.reject(new SagaError('unavailable', 'SAGA_NOT_RUNNING', `the saga runtime: ${why}`));
  }

  /** Tasks come by Kafka: nobody has to be told. */
  kick(): void {
    // Nothing polls here.
  }

  tick(): Promise<{ readonly claimed: number }> {
    return Promise.resolve({ claimed: 0 });
  }

  private async createWorker(): Promise<Worker> {
    const { platform, registry, namespace, concurrency } = this.options;
    const { createWorker } = await import('@baton/worker');
    return createWorker({
      brokers: platform.brokers,
      coordinators: platform.coordinators,
      ...(platform.apiKey !== undefined && { apiKey: platform.apiKey }),
      ...(namespace !== undefined && { namespace }),
      ...(concurrency !== undefined && { concurrency }),
      queues: [...new Set(registry.all().map(({ queue }) => queue))],
      handlers: handlersOf(registry, this.logger),
      logger: this.logger satisfies WorkerLogger,
    });
  }
}
