import type { JsonText } from '@baton/core';
import type { RunStartWrite, StartResult, Store } from '@baton/engine';
import type { EventReader, SqlExecutor, TimerStore } from '@baton/storage-postgres';

/**
 * A database as the library needs it: the parts of the engine, and what lies around them. PostgreSQL, or a twin of it in
 * memory for tests; everything above is the same for both.
 */
export interface SagaStore {
  readonly kind: 'postgres' | 'memory';
  /** Of the engine. */
  readonly runs: Store;
  /** Rows whose instant has come, roles that one process holds, partitions and keys. */
  readonly timers: TimerStore;
  readonly events: EventReader;
  readonly definitions: DefinitionShelf;
  /** Where subscribers stand. */
  readonly positions: PositionStore;
  /** A start within the caller's own transaction. Rejects (TRANSACTIONS_UNSUPPORTED, invalid) where there are none. */
  writeStart(executor: SqlExecutor, batchId: string, start: RunStartWrite): Promise<StartResult>;
  /** Reads the catalogue, no rows: rejects (SCHEMA_…, unavailable or internal) if tables or columns are not as needed. */
  checkReady(): Promise<void>;
  close(): Promise<void>;
}

export interface SagaDefinition {
  readonly id: string;
  readonly version: number;
  readonly spec: JsonText;
}

/** Published versions; what is published never changes (W12). */
export interface DefinitionShelf {
  /**
   * Publishes what is not there yet, and makes the newest of each id the one that is deployed. Answers those whose version
   * was there with other content; nothing of those is written.
   */
  publish(namespace: string, definitions: readonly SagaDefinition[]): Promise<readonly ChangedDefinition[]>;
}

export interface ChangedDefinition {
  readonly id: string;
  readonly version: number;
  /** What is there. */
  readonly published: JsonText;
  readonly ours: JsonText;
}

export interface SubscriberPosition {
  /** null = before the first event that is kept. */
  readonly cursor: string | null;
  /** The event that stopped the subscriber; null = it is not stopped. */
  readonly stoppedAt: string | null;
  readonly failure: string | null;
}

/** Where each subscriber stands, by name. Positions move by comparison: a process that is late changes nothing. */
export interface PositionStore {
  /** undefined = nobody of that name has been here. */
  read(namespace: string, subscriber: string): Promise<SubscriberPosition | undefined>;
  /** false = another process has set a position meanwhile, and that one holds. `from` undefined = there is none yet. */
  move(namespace: string, subscriber: string, from: string | null | undefined, to: string | null): Promise<boolean>;
  /** Marks it as stopped at an event, with why; null = it goes on. */
  mark(
    namespace: string,
    subscriber: string,
    stop: { readonly event: string; readonly failure: string } | null,
  ): Promise<void>;
}
