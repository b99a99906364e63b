import { ActiveRole } from '@baton/storage-postgres';
import { systemClock, systemNewId } from '../executor/system-clock.js';
import type { Clock } from '../executor/types.js';
import { readEvents } from '../journal/journal.js';
import type { GlobalReader } from '../journal/ports.js';
import { guardLogger } from '../observe/guard-given.js';
import type { SagaLogger } from '../observe/observer.js';
import type { RelayHook } from '../runtime/dispatcher.js';
import { stderrLogger } from '../runtime/stderr-logger.js';
import type { PositionStore, SagaStore, SubscriberPosition } from '../storage/saga-store.js';
import { EventSubscriber, type SubscriberSettings } from './subscriber.js';

export interface SubscribeOptions extends SubscriberSettings {
  /** Not owned. */
  readonly store: SagaStore;
  /** Default `default`. */
  readonly namespace?: string;
  readonly clock?: Clock;
  /** Default: warnings and errors on standard error. */
  readonly logger?: SagaLogger;
  /** Of the role. Unique for each process; default: a fresh one. */
  readonly owner?: string;
}

/** How soon another process takes over from one that is gone. Milliseconds. */
const ROLE_LEASE_MS = 10_000;

/**
 * A subscriber with a position in the database: its events come once to one of all the processes that have it, at least
 * once each, and go on after a restart where they were. It has not started.
 */
export function createSubscriber(options: SubscribeOptions): EventSubscriber {
  const { store, namespace = 'default', clock = systemClock, logger = stderrLogger, owner = systemNewId() } = options;
  const role = { role: `saga-events:${namespace}:${options.name}`, owner, leaseMs: ROLE_LEASE_MS };
  return new EventSubscriber(options, {
    ...{ namespace, clock, logger: guardLogger(logger) },
    reader: readerOf(store, namespace),
    positions: store.positions,
    role: new ActiveRole(store.timers, role, () => clock.now()),
  });
}

/**
 * A subscriber of this process alone: it sees what every process commits, from its first look on, and remembers nothing
 * after its end. For caches and screens, not for work that must be done.
 */
export function createLocalSubscriber(options: Omit<SubscribeOptions, 'owner' | 'from'>): EventSubscriber {
  const { store, namespace = 'default', clock = systemClock, logger = stderrLogger } = options;
  return new EventSubscriber(
    { ...options, from: 'now' },
    {
      ...{ namespace, clock, logger: guardLogger(logger) },
      reader: readerOf(store, namespace),
      positions: ownPosition(),
      role: null,
    },
  );
}

/** For `relay` of the runtime: whatever this process commits, these look at once. */
export function wakeAll(subscribers: readonly RelayHook[]): RelayHook {
  return {
    kick: () => {
      for (const subscriber of subscribers) subscriber.kick();
    },
  };
}

function readerOf({ events }: SagaStore, namespace: string): GlobalReader {
  const loadSince: GlobalReader['loadSince'] = (after, limit) => readEvents(events, namespace, after, limit);
  return {
    loadSince,
    head: async () => ((await loadSince(null, 1)).length === 0 ? null : events.head()),
  };
}

function ownPosition(): PositionStore {
  let position: SubscriberPosition | undefined;
  return {
    read: () => Promise.resolve(position),
    move(_namespace, _subscriber, from, to) {
      if (position?.cursor !== from) return Promise.resolve(false);
      position = { cursor: to, stoppedAt: null, failure: null };
      return Promise.resolve(true);
    },
    mark: () => Promise.resolve(),
  };
}
