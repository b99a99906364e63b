import type { StartOptions } from '../../client/types.js';
import type { Saga } from '../../definition/saga.js';
import type { GlobalEvent, SagaEvent } from '../../journal/ports.js';
import type { SagaStatus } from '../../journal/status.js';
import type { Locker } from '../../leader/locker.js';
import type { SagaConfig } from '../config.js';
import type { SagaRuntime } from '../saga-runtime.js';
import type { LogBook, ObserverBook } from './runtime-fixture.js';

/** One database, and processes of a service over it. The same for both stores. */
export interface SagaWorld {
  /** A process whose runtime has started. */
  process(options: ProcessOptions): Promise<SagaProcess>;
  /** The time of the database goes on by so much; that of the processes does not. */
  passes(ms: number): Promise<void>;
  /** Events of one run, as readers see them. */
  events(runId: string): Promise<readonly GlobalEvent[]>;
  /** Ends all processes: between two tests. */
  endProcesses(): Promise<void>;
  /** Ends the processes as well. */
  close(): Promise<void>;
}

export interface ProcessOptions {
  readonly sagas: readonly Saga[];
  readonly config?: Partial<SagaConfig>;
  readonly concurrency?: number;
  readonly leaderElect?: Locker;
}

export interface SagaProcess {
  readonly runtime: SagaRuntime;
  readonly log: LogBook;
  readonly observer: ObserverBook;
  /** Answers the id of the run. */
  start(sagaId: string, input?: unknown, options?: StartOptions): Promise<string>;
  cancel(runId: string): Promise<void>;
  journal(runId: string): Promise<readonly SagaEvent[]>;
  status(runId: string): Promise<SagaStatus>;
  /** From here on nothing of it reaches the database any more: no report, no heartbeat, no release. */
  kill(): void;
}
