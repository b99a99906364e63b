import { setTimeout } from 'node:timers/promises';
import { createWorker, type TaskHandler, type Worker, type WorkerLogger } from '@baton/worker';
import { handlers, queues } from './handlers.js';
import { Ledger } from './ledger.js';

export interface FleetSettings {
  readonly brokers: readonly string[];
  readonly coordinators: readonly string[];
  readonly namespace: string;
  readonly apiKey: string | undefined;
  readonly ledgerUrl: string | undefined;
  readonly concurrency: number;
  /** Lets every step take this long, so that there is something to watch, or to kill. */
  readonly stepMs: number;
}

export interface Fleet {
  readonly worker: Worker;
  /** Resolves when every queue's consumer group is joined. */
  start(): Promise<void>;
  /** At any time, also while it starts. */
  stop(deadlineMs: number): Promise<void>;
}

/** One worker that serves all queues of the example. */
export function createFleet(settings: FleetSettings, logger: WorkerLogger): Fleet {
  const ledger = settings.ledgerUrl === undefined ? undefined : new Ledger(settings.ledgerUrl);
  const worker = createWorker({
    brokers: settings.brokers,
    coordinators: settings.coordinators,
    namespace: settings.namespace,
    ...(settings.apiKey !== undefined && { apiKey: settings.apiKey }),
    queues,
    handlers: wrapped(settings.stepMs, ledger),
    concurrency: settings.concurrency,
    logger,
  });
  return {
    worker,
    start: async () => {
      await ledger?.prepare();
      await worker.start();
    },
    stop: async (deadlineMs) => {
      await worker.stop(deadlineMs);
      await ledger?.close();
    },
  };
}

function wrapped(stepMs: number, ledger: Ledger | undefined): Readonly<Record<string, TaskHandler>> {
  const paced = (handler: TaskHandler): TaskHandler =>
    stepMs === 0 ? handler : async (context) => (await setTimeout(stepMs), handler(context));
  const entries = Object.entries(handlers).map(([name, handler]) => [
    name,
    ledger === undefined ? paced(handler) : ledger.record(paced(handler)),
  ]);
  return Object.fromEntries(entries) as Record<string, TaskHandler>;
}
