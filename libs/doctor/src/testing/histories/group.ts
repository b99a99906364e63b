import { randomBytes } from 'node:crypto';
import {
  createEngine,
  type DueItem,
  type EngineApi,
  type EngineOptions,
  type RetryRun,
  type StartRun,
  type Store,
} from '@baton/engine';
import { engineOptions } from '@baton/engine/testing';
import { definitionText, anyDag, anyNextDag } from '@baton/core/testing';
import { templateCompiler } from '@baton/expressions';
import { createPostgresStore } from '@baton/storage-postgres';
import * as fc from 'fast-check';
import { send, type Answer, type Call } from './calls.js';
import { History } from './history.js';
import { NAMESPACE, type HistoryDatabase } from './history-database.js';
import type { Random } from './random.js';
import { Book, Recorder } from './recorder.js';
import { viewRuns, type RunView } from './view.js';

/** Histories that live at the same time: enough that batches hold many runs, few enough that runs meet themselves. */
const ALIVE = 24;
const LARGEST_BATCH = 64;

export interface Played {
  readonly database: HistoryDatabase;
  readonly book: Book;
  readonly definitions: readonly Published[];
  readonly starts: ReadonlyMap<string, StartRun>;
  readonly retries: ReadonlyMap<string, RetryRun>;
  /** Acquires by their id, heartbeats by their progress. */
  readonly leaseCalls: ReadonlyMap<string, Call>;
  /** By run: how many callers were told that they changed it. */
  readonly told: ReadonlyMap<string, number>;
  readonly calls: ReadonlyMap<string, number>;
  readonly answers: ReadonlyMap<string, number>;
  readonly batches: ReadonlyMap<number, number>;
  readonly engineBatches: ReadonlyMap<number, number>;
}

export interface Published {
  readonly id: string;
  readonly text: string;
  readonly nextText: string;
  readonly nodes: readonly string[];
  readonly deployed: 1 | 2;
}

/** A UUIDv7 of now. */
export function freshId(): string {
  const hex = Date.now().toString(16).padStart(12, '0');
  const tail = randomBytes(10).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${tail.slice(1, 4)}-8${tail.slice(5, 8)}-${tail.slice(8)}`;
}

export interface OpenEngine {
  readonly engine: EngineApi;
  close(): Promise<void>;
}

/** An engine as another process would have it: own pool, own cache. */
export function openEngine(
  url: string,
  options: Partial<EngineOptions>,
  wrap: Recorder['wrap'] = (store) => store,
): OpenEngine {
  const store = createPostgresStore({ url, poolSize: 4 });
  const { limits: _limits, ...base } = engineOptions(store, Date.now());
  const engine = createEngine({
    ...base,
    store: wrap(store),
    templates: templateCompiler,
    newId: freshId,
    now: Date.now,
    random: Math.random,
    ...options,
  });
  return {
    engine,
    async close() {
      await engine.close();
      await store.close();
    },
  };
}

export function definitionsFor(random: Random, count: number): Published[] {
  const settings = { seed: random.seed(), numRuns: count };
  const dags = fc.sample(anyDag, settings);
  const nextDags = fc.sample(anyNextDag, settings);
  return dags.map((dag, index) => {
    const id = `history-${index}`;
    const text = definitionText(dag, id);
    // Every other one is a change of the definition that has nothing else in common with it.
    const next = index % 2 === 0 ? nextDags[index] : { ...dag, version: 2 };
    if (next === undefined) throw new Error('a definition without a next version');
    const nextText = definitionText(next, id);
    return { id, text, nextText, nodes: dag.order, deployed: index % 3 === 0 ? 2 : 1 };
  });
}

export async function publishAll(database: HistoryDatabase, definitions: readonly Published[]): Promise<void> {
  for (const { text, nextText, deployed } of definitions) {
    await database.publish(text, deployed === 1);
    await database.publish(nextText, deployed === 2);
  }
}

export interface GroupOptions {
  /** Calls at random of one history, at most. */
  readonly longest: number;
  /** Breaks the store beneath both engines: to see that it shows. */
  readonly spoil?: (store: Store) => Store;
}

/** Plays some histories on two engines over one database, many calls at a time, and keeps what happened. */
export class Group {
  private readonly book = new Book();
  private readonly starts = new Map<string, StartRun>();
  private readonly retries = new Map<string, RetryRun>();
  private readonly leaseCalls = new Map<string, Call>();
  private readonly told = new Map<string, number>();
  private readonly calls = new Map<string, number>();
  private readonly answers = new Map<string, number>();
  private readonly batches = new Map<number, number>();
  private readonly engineBatches = new Map<number, number>();
  private engines: readonly OpenEngine[] = [];

  constructor(
    private readonly database: HistoryDatabase,
    private readonly random: Random,
    private readonly definitions: readonly Published[],
    private readonly options: GroupOptions,
  ) {}

  async play(count: number): Promise<Played> {
    this.engines = [1, 2].map((lanes) => this.openRecorded(lanes));
    try {
      const waiting = Array.from({ length: count }, (_x, index) => this.newHistory(index));
      let alive: History[] = [];
      while (waiting.length > 0 || alive.length > 0) {
        while (alive.length < ALIVE && waiting.length > 0) alive.push(...waiting.splice(0, 1));
        alive = await this.round(alive);
      }
      await this.fireAllDue();
    } finally {
      await Promise.all(this.engines.map((engine) => engine.close()));
    }
    const { database, book, definitions, starts, retries, leaseCalls, told } = this;
    const { calls, answers, batches, engineBatches } = this;
    return {
      database,
      book,
      definitions,
      starts,
      retries,
      leaseCalls,
      told,
      calls,
      answers,
      batches,
      engineBatches,
    };
  }

  /** The timer service catches up: nothing is overdue when the doctor comes. */
  private async fireAllDue(): Promise<void> {
    for (let round = 0; round < 50; round += 1) {
      const views = await viewRuns(this.database, [...this.starts.keys()]);
      const calls = [...views.values()].flatMap(dueOf);
      if (calls.length === 0) return;
      for (let from = 0; from < calls.length; from += LARGEST_BATCH) {
        await Promise.all(calls.slice(from, from + LARGEST_BATCH).map(({ runId, call }) => this.make({ runId }, call)));
      }
    }
    throw new Error('something is due again and again');
  }

  private openRecorded(lanes: number): OpenEngine {
    const { spoil = (store) => store } = this.options;
    const recorder = new Recorder(lanes, this.book);
    const { decide } = recorder;
    const hooks = { onCommit: ({ events }: { readonly events: number }) => count(this.engineBatches, events) };
    const limits = { batchEvents: LARGEST_BATCH };
    return openEngine(this.database.url, { decide, hooks, limits, lanes }, (store) => recorder.wrap(spoil(store)));
  }

  private newHistory(index: number): History {
    const { random } = this;
    const definition = random.pick(this.definitions);
    if (definition === undefined) throw new Error('no definitions');
    const start: StartRun = {
      namespace: NAMESPACE,
      definitionId: definition.id,
      definitionVersion: 1,
      input: random.chance(0.8) ? '{"a":1}' : null,
      ...(random.chance(0.4) ? { idempotencyKey: `key ${index}` } : {}),
      ...(random.chance(0.3) ? { runId: freshId() } : {}),
      ...(random.chance(0.25) ? { businessKey: 'order' } : {}),
      ...(random.chance(0.15) ? { startNodeId: random.pick(definition.nodes) ?? 'n0' } : {}),
    };
    return new History(start, definition.nodes, random, {
      random: random.between(5, this.options.longest),
      closing: 40,
    });
  }

  /** One batch of calls at once, on both engines. Answers the histories that go on. */
  private async round(alive: readonly History[]): Promise<History[]> {
    const { random, database } = this;
    const runIds = alive.map(({ runId }) => runId).filter((runId): runId is string => runId !== undefined);
    const views = await viewRuns(database, runIds);
    const size = random.chance(0.2) ? random.between(1, 3) : random.between(1, LARGEST_BATCH);
    const batch: { readonly history: History; readonly call: Call }[] = [];
    // A few runs get several calls each, others none: events of one run meet in one batch.
    const some = Array.from({ length: random.between(Math.ceil(size / 4), 24) }, () => random.pick(alive));
    for (const history of alive) history.newRound();
    for (let asked = 0; batch.length < size && asked < 4 * size; asked += 1) {
      const history = random.pick(some);
      if (history === undefined) break;
      const view = history.runId === undefined ? undefined : views.get(history.runId);
      const call = history.next(view);
      if (call === undefined) continue;
      batch.push({ history, call });
      if (random.chance(0.05)) batch.push({ history, call }); // sent twice
    }
    count(this.batches, Math.min(batch.length, LARGEST_BATCH));
    await Promise.all(batch.slice(0, LARGEST_BATCH).map(({ history, call }) => this.make(history, call)));
    await database.moveTo(database.nowMs + this.pause());
    return alive.filter(
      (history) => !history.isOver(history.runId === undefined ? undefined : views.get(history.runId)),
    );
  }

  private async make(history: { runId: string | undefined }, call: Call): Promise<void> {
    this.remember(call);
    const { engine } = this.random.pick(this.engines) ?? {};
    if (engine === undefined) throw new Error('no engine');
    const answer = await send(engine, call);
    count(this.calls, call.kind);
    count(this.answers, `${call.kind}: ${answer.text}`);
    if (call.kind === 'start') this.noteStart(history, call.start, answer);
    const runId = call.kind === 'start' ? answer.runId : history.runId;
    if (answer.applied && runId !== undefined) count(this.told, runId);
  }

  private noteStart(history: { runId: string | undefined }, start: StartRun, { applied, runId }: Answer): void {
    if (runId === undefined) return;
    if (history.runId === undefined || applied) history.runId ??= runId;
    if (applied) this.starts.set(runId, start);
  }

  private remember(call: Call): void {
    if (call.kind === 'retry') this.retries.set(call.retry.requestId, call.retry);
    if (call.kind === 'acquire') this.leaseCalls.set(call.acquire.callId, call);
    if (call.kind === 'heartbeat' && call.heartbeat.progress !== undefined) {
      this.leaseCalls.set(call.heartbeat.progress, call);
    }
  }

  private pause(): number {
    return this.random.weighted([
      [60, 0],
      [12, 1_000],
      [10, 3_000],
      [8, 6_000],
      [4, 12_000],
      [2, 45_000],
      [1, 310_000],
      [0.3, 3_700_000],
    ]);
  }
}

function dueOf({ runId, tasks, timers }: RunView): { readonly runId: string; readonly call: Call }[] {
  const base = { namespace: NAMESPACE, runId };
  const items: DueItem[] = [
    ...tasks
      .filter(({ due }) => due)
      .map(({ taskId, attempt }) => ({ ...base, kind: 'task' as const, taskId, attempt })),
    ...timers.filter(({ due }) => due).map(({ timerId }) => ({ ...base, kind: 'timer' as const, timerId })),
  ];
  return items.map((item) => ({ runId, call: { kind: 'fire', item } }));
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
