import type { DueItem } from '@baton/engine';
import { MemoryStore } from '@baton/engine/testing';
import type { EventPage, EventReader, TimerStore } from '@baton/storage-postgres';
import { invalid } from '../journal/checks.js';
import type { DefinitionShelf, PositionStore, SagaStore, SubscriberPosition } from '../storage/saga-store.js';

/** A database in memory: the same engine works on it, and its clock is the test's. */
export interface MemorySagaStore extends SagaStore {
  readonly kind: 'memory';
  readonly runs: MemoryStore;
  /** The time of the database goes on by so much. Nothing is fired by it: `readDue` then finds more. */
  advance(ms: number): void;
  /** Says that it is not ready, from now on; null = it is again. */
  break(error: Error | null): void;
}

export interface MemoryStoreOptions {
  /** Milliseconds that have passed; the clock of the database follows it. Default: it stands still but for `advance`. */
  readonly elapsed?: () => number;
}

export function openMemorySagaStore({ elapsed = () => 0 }: MemoryStoreOptions = {}): MemorySagaStore {
  const runs = new MemoryStore();
  const began = runs.nowMs - elapsed();
  let moved = 0;
  Object.defineProperty(runs, 'nowMs', { get: () => began + elapsed() + moved });
  let broken: Error | null = null;
  return {
    kind: 'memory',
    runs,
    timers: memoryTimers(runs),
    events: memoryEvents(runs),
    definitions: memoryDefinitions(runs),
    positions: memoryPositions(),
    writeStart: () =>
      Promise.reject(invalid('TRANSACTIONS_UNSUPPORTED', 'a database in memory has no transactions of a caller')),
    checkReady: () => (broken === null ? Promise.resolve() : Promise.reject(broken)),
    advance: (ms) => void (moved += ms),
    break: (error) => void (broken = error),
    close: () => runs.close(),
  };
}

interface Due {
  readonly item: DueItem;
  readonly at: number;
}

function* wakeUps(runs: MemoryStore): Generator<Due> {
  for (const [runId, tasks] of runs.tasks) {
    const namespace = runs.runs.get(runId)?.state.namespace ?? '';
    for (const [taskId, { wakeAt, state }] of tasks) {
      if (wakeAt === null) continue;
      yield { item: { kind: 'task', namespace, runId, taskId, attempt: state.attempt }, at: wakeAt };
    }
  }
  for (const { namespace, runId, timerId, dueAt } of runs.timers.values()) {
    yield { item: { kind: 'timer', namespace, runId, timerId }, at: dueAt };
  }
}

function memoryTimers(runs: MemoryStore): TimerStore {
  const leases = new Map<string, { owner: string; epoch: number; until: number }>();
  return {
    readDue(limit) {
      const all = [...wakeUps(runs)].sort((a, b) => a.at - b.at);
      const due = all.filter(({ at }) => at <= runs.nowMs).slice(0, limit);
      const next = all.find(({ at }) => at > runs.nowMs);
      return Promise.resolve({
        items: due.map(({ item }) => item),
        lateMs: due.map(({ at }) => runs.nowMs - at),
        nextDueInMs: next === undefined ? null : next.at - runs.nowMs,
      });
    },
    takeServiceLease(role, owner, ttlMs) {
      const held = leases.get(role);
      if (held !== undefined && held.owner !== owner && held.until > runs.nowMs) return Promise.resolve(undefined);
      const epoch = held === undefined ? 1 : held.epoch + (held.owner === owner ? 0 : 1);
      leases.set(role, { owner, epoch, until: runs.nowMs + ttlMs });
      return Promise.resolve({ epoch });
    },
    releaseServiceLease(role, owner) {
      const held = leases.get(role);
      if (held?.owner === owner) held.until = Number.NEGATIVE_INFINITY;
      return Promise.resolve();
    },
    ensurePartitions: () => Promise.resolve(),
    purgeKeys: () => Promise.resolve(0),
    close: () => Promise.resolve(),
  };
}

/** Each write is one synchronous step, so the order of the rows is the order of the commits. */
function memoryEvents(runs: MemoryStore): EventReader {
  const read = (namespace: string, after: string | null, limit: number): EventPage => {
    const from = after === null ? 0 : positionOf(after);
    const events = runs.outbox.flatMap(({ id, runId, runSeq, topic, type, payload, traceparent }, index) => {
      if (index < from || runs.runs.get(runId)?.state.namespace !== namespace) return [];
      const at = new Date(runs.nowMs);
      return [{ cursor: cursorOf(index + 1), id, namespace, runId, runSeq, topic, type, payload, traceparent, at }];
    });
    const page = events.slice(0, limit);
    const last = page.length === limit ? page.at(-1) : undefined;
    return { events: page, next: last?.cursor ?? cursorOf(Math.max(from, runs.outbox.length)) };
  };
  return {
    read: async (namespace, after, limit) => read(namespace, after, limit),
    head: () => Promise.resolve(cursorOf(runs.outbox.length)),
    close: () => Promise.resolve(),
  };
}

const cursorOf = (position: number): string => `${position}-0`;

function positionOf(cursor: string): number {
  const [, position] = /^(\d{1,15})-0$/.exec(cursor) ?? [];
  if (position === undefined) throw new RangeError('this is not a cursor of an event reader');
  return Number(position);
}

function memoryDefinitions({ definitions, deployed }: MemoryStore): DefinitionShelf {
  return {
    publish(namespace, all) {
      const changed = all.flatMap(({ id, version, spec }) => {
        const key = `${namespace}/${id}@${version}`;
        const published = definitions.get(key) ?? spec;
        if (published !== spec) return [{ id, version, published, ours: spec }];
        definitions.set(key, spec);
        deployed.set(`${namespace}/${id}`, Math.max(version, deployed.get(`${namespace}/${id}`) ?? 0));
        return [];
      });
      return Promise.resolve(changed);
    },
  };
}

function memoryPositions(): PositionStore {
  const rows = new Map<string, SubscriberPosition>();
  const keyOf = (namespace: string, subscriber: string) => `${namespace}/${subscriber}`;
  return {
    read: (namespace, subscriber) => Promise.resolve(rows.get(keyOf(namespace, subscriber))),
    move(namespace, subscriber, from, to) {
      const key = keyOf(namespace, subscriber);
      if (rows.get(key)?.cursor !== from) return Promise.resolve(false);
      rows.set(key, { cursor: to, stoppedAt: null, failure: null });
      return Promise.resolve(true);
    },
    mark(namespace, subscriber, stop) {
      const row = rows.get(keyOf(namespace, subscriber));
      const marks = { stoppedAt: stop?.event ?? null, failure: stop?.failure ?? null };
      if (row !== undefined) rows.set(keyOf(namespace, subscriber), { ...row, ...marks });
      return Promise.resolve();
    },
  };
}
