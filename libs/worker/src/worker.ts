import {
  createBusConsumer,
  taskTopic,
  type BusConnection,
  type BusConsumer,
  type ConsumedBatch,
  type TopicLayout,
} from '@baton/bus-kafka';
import { after } from '@baton/execution';
import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { Attempt, type AttemptEnd } from './attempt/attempt.js';
import type { TaskHandler } from './context.js';
import { DeadLetters } from './intake/dead-letters.js';
import { Intake, type Granted } from './intake/intake.js';
import { consoleLogger, type WorkerLogger } from './logger.js';
import { SessionClient } from './session/session-client.js';

export interface WorkerOptions {
  /** Kafka, host:port. */
  readonly brokers: readonly string[];
  /** Coordinators (gRPC), host:port. */
  readonly coordinators: readonly string[];
  /** Default `default`. With API keys: the namespace of the key. */
  readonly namespace?: string;
  readonly apiKey?: string;
  readonly queues: readonly string[];
  /** By the `task` of the definition's nodes (its default is the node id). */
  readonly handlers: Readonly<Record<string, TaskHandler>>;
  /** Attempts that run side by side in this process. Default 20. */
  readonly concurrency?: number;
  /**
   * Workers of one group share the messages of a queue. Default `baton.<namespace>.workers`. Each queue has a
   * consumer group of its own, `<groupId>.<queue>`, so that fleets may serve different sets of queues.
   */
  readonly groupId?: string;
  /** Shown in runs as the holder of a lease. Default: host, pid and a random part. */
  readonly owner?: string;
  readonly logger?: WorkerLogger;
  /** Layout of the topic of a queue that does not exist yet. */
  readonly topicLayout?: TopicLayout;
  readonly hooks?: WorkerHooks;
}

/** For metrics. Called often: must be cheap and must not throw. */
export interface WorkerHooks {
  acquired?(status: string): void;
  attemptStarted?(handler: string): void;
  attemptEnded?(handler: string, end: AttemptEnd, ms: number): void;
  deadLettered?(topic: string): void;
}

export interface WorkerHealth {
  /** Every queue's consumer is a member of its group. */
  readonly joined: boolean;
  /** A session with a coordinator is open. It is opened with the first message. */
  readonly connected: boolean;
  readonly running: number;
  /** Slots taken by leases that were asked for and are not answered yet. */
  readonly acquiring: number;
  /** Fetched messages that wait for a slot, or for their next ask. */
  readonly waiting: number;
}

export interface Worker {
  /** Resolves when the consumer groups are joined. Keeps trying while Kafka is away. */
  start(): Promise<void>;
  /**
   * Takes nothing new, lets running handlers finish for most of `deadlineMs`, aborts and gives back the others (R13),
   * delivers every report that is left. Default 10000. May be called more than once.
   */
  stop(deadlineMs?: number): Promise<void>;
  health(): WorkerHealth;
}

export function createWorker(options: WorkerOptions): Worker {
  return new TaskWorker(options);
}

/** How much of the time to stop is kept for giving back and reporting. */
const GIVE_BACK_SHARE = 0.3;
const PATIENCE_MS = 30_000;
const NAME = /^[a-z0-9-]{1,63}$/;

class TaskWorker implements Worker {
  private readonly namespace: string;
  private readonly logger: WorkerLogger;
  private readonly session: SessionClient;
  private readonly intake: Intake;
  private readonly deadLetters: DeadLetters;
  private readonly consumers: readonly BusConsumer[];
  private readonly running = new Set<Attempt>();
  private readonly inFlight = new Set<Promise<void>>();
  private readonly handlers: ReadonlyMap<string, TaskHandler>;
  private isStopping = false;
  private stopped: Promise<void> | undefined;

  constructor(private readonly options: WorkerOptions) {
    this.namespace = options.namespace ?? 'default';
    this.logger = options.logger ?? consoleLogger;
    checkOptions(options, this.namespace);
    // A Map, so that no name of Object.prototype is a handler.
    this.handlers = new Map(Object.entries(options.handlers));
    const owner = options.owner ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
    const connection = this.busConnection(owner);
    this.session = new SessionClient({
      coordinators: options.coordinators,
      logger: this.logger,
      ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
    });
    this.deadLetters = new DeadLetters({ connection, namespace: this.namespace, logger: this.logger });
    this.intake = this.createIntake(owner);
    this.consumers = [...new Set(options.queues)].map((queue) => this.createConsumer(queue, connection));
  }

  async start(): Promise<void> {
    if (this.isStopping) throw new Error('the worker is stopping');
    await Promise.all(this.consumers.map((consumer) => consumer.start()));
    this.logger.info({ queues: this.options.queues, coordinators: this.options.coordinators }, 'worker started');
  }

  stop(deadlineMs = 10_000): Promise<void> {
    this.stopped ??= this.stopWithin(deadlineMs);
    return this.stopped;
  }

  health(): WorkerHealth {
    return {
      joined: this.consumers.every((consumer) => consumer.health().joined),
      connected: this.session.isConnected,
      running: this.running.size,
      acquiring: this.intake.busy - this.inFlight.size,
      waiting: this.intake.waiting,
    };
  }

  private async stopWithin(deadlineMs: number): Promise<void> {
    const deadlineAt = performance.now() + deadlineMs;
    const leftMs = () => Math.max(0, deadlineAt - performance.now());
    this.isStopping = true;
    this.intake.stop();
    const left = Promise.all(this.consumers.map((consumer) => this.stopConsumer(consumer)));
    await within(deadlineMs * (1 - GIVE_BACK_SHARE), this.allEnded());
    for (const attempt of this.running) attempt.abort();
    // A handler that listens to its signal ends in a moment; for the others the attempt is given back.
    await within(Math.min(500, leftMs() / 3), this.allEnded());
    for (const attempt of this.running) attempt.giveUp();
    await within(leftMs() * 0.8, this.allEnded());
    await this.session.close(leftMs() / 2);
    await within(leftMs(), left);
    await within(Math.max(200, leftMs()), this.deadLetters.close());
    this.logger.info({}, 'worker stopped');
  }

  private async stopConsumer(consumer: BusConsumer): Promise<void> {
    try {
      await consumer.stop();
    } catch (error) {
      this.logger.warn({ err: error }, 'a consumer did not stop cleanly');
    }
  }

  private async allEnded(): Promise<void> {
    while (this.inFlight.size > 0) await Promise.all(this.inFlight);
  }

  private createIntake(owner: string): Intake {
    const { hooks } = this.options;
    return new Intake({
      owner,
      concurrency: this.options.concurrency ?? 20,
      session: this.session,
      logger: this.logger,
      patienceMs: PATIENCE_MS,
      run: (granted) => this.runAttempt(granted),
      bury: async (message, reason) => {
        hooks?.deadLettered?.(message.topic);
        await this.deadLetters.bury(message, reason);
      },
      ...(hooks?.acquired && { onAcquire: hooks.acquired.bind(hooks) }),
    });
  }

  private createConsumer(queue: string, connection: BusConnection): BusConsumer {
    return createBusConsumer({
      ...connection,
      groupId: `${this.options.groupId ?? `baton.${this.namespace}.workers`}.${queue}`,
      topics: [taskTopic(this.namespace, queue)],
      onBatch: (batch: ConsumedBatch) => this.intake.takeBatch(batch),
      ...(this.options.topicLayout && { createTopics: this.options.topicLayout }),
    });
  }

  private async runAttempt(granted: Granted): Promise<void> {
    const work = this.drive(granted);
    this.inFlight.add(work);
    try {
      await work;
    } finally {
      this.inFlight.delete(work);
    }
  }

  private async drive({ task, result, askedAt }: Granted): Promise<void> {
    const { hooks } = this.options;
    const attempt = new Attempt({
      task,
      lease: {
        runId: task.runId,
        taskId: task.taskId,
        attempt: result.attempt || task.attempt,
        leaseId: result.leaseId ?? '',
        ttlMs: result.ttlMs ?? 0,
        startToCloseMs: result.startToCloseMs ?? 0,
        askedAt,
      },
      inputText: task.input ?? result.input ?? 'null',
      progress: result.progress,
      session: this.session,
      logger: this.logger,
    });
    // R13: a lease that came too late goes back; its handler never ran.
    if (this.isStopping) return attempt.returnUnstarted();
    this.running.add(attempt);
    const startedAt = performance.now();
    hooks?.attemptStarted?.(task.handler);
    try {
      const end = await attempt.run(this.handlers.get(task.handler));
      hooks?.attemptEnded?.(task.handler, end, performance.now() - startedAt);
    } finally {
      this.running.delete(attempt);
    }
  }

  private busConnection(owner: string): BusConnection {
    const logger = this.logger;
    return {
      brokers: this.options.brokers,
      clientId: `baton-worker-${owner}`,
      log: {
        debug: (message, fields = {}) => logger.debug(fields, message),
        info: (message, fields = {}) => logger.info(fields, message),
        warn: (message, fields = {}) => logger.warn(fields, message),
        error: (message, fields = {}) => logger.error(fields, message),
      },
    };
  }
}

/** R28: names become parts of topics, so they are checked before any is made. */
function checkOptions(options: WorkerOptions, namespace: string): void {
  if (!NAME.test(namespace)) throw new RangeError(`namespace must match ${NAME.source}: ${JSON.stringify(namespace)}`);
  if (options.queues.length === 0) throw new RangeError('at least one queue is needed');
  for (const queue of options.queues) {
    if (!NAME.test(queue)) throw new RangeError(`queue must match ${NAME.source}: ${JSON.stringify(queue)}`);
  }
  const { concurrency } = options;
  if (concurrency !== undefined && (!Number.isInteger(concurrency) || concurrency < 1)) {
    throw new RangeError(`concurrency must be a whole number of at least 1: ${concurrency}`);
  }
}

/** Waits for `work`, but not longer than `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = after(ms, resolve);
    void work.finally(() => {
      stop();
      resolve();
    });
  });
}
