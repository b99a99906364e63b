import { createHash } from 'node:crypto';
import type { EngineApi, RunStartedResult } from '../api.js';
import { createEngine } from '../engine.js';
import type { EngineOptions } from '../options.js';
import type { Store } from '../ports.js';
import { chain, diamond, single } from './definitions.js';
import { MemoryStore } from './memory-store.js';
import { plainTemplates } from './plain-templates.js';

/** Ids that are UUIDv7 of a fixed time, in order: the same calls give the same ids. */
export function countedIds(nowMs: number, lane = 1): () => string {
  let count = 0;
  const time = nowMs.toString(16).padStart(12, '0');
  return () => {
    count += 1;
    const tail = count.toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${lane.toString(16).padStart(3, '0')}-8000-${tail}`;
  };
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function engineOptions(store: Store, nowMs: number): EngineOptions {
  return {
    store,
    templates: plainTemplates,
    schemas: { validate: () => [] },
    newId: countedIds(nowMs),
    hash: sha256,
    random: () => 0.5,
    now: () => nowMs,
    limits: { transientPauseMs: 1, unknownCommitMs: 200 },
    resultPollMs: 5,
  };
}

export function storeWithDefinitions(): MemoryStore {
  const store = new MemoryStore();
  for (const text of [chain, diamond, single]) publish(store, text);
  return store;
}

export function publish(store: MemoryStore, text: string): void {
  const { id, version } = JSON.parse(text) as { id: string; version: number };
  store.definitions.set(`default/${id}@${version}`, text);
  store.deployed.set(`default/${id}`, version);
}

export function memoryEngine(
  options: Partial<EngineOptions> = {},
  store: MemoryStore = storeWithDefinitions(),
): { readonly engine: EngineApi; readonly store: MemoryStore } {
  return { engine: createEngine({ ...engineOptions(store, store.nowMs), ...options }), store };
}

export function startOf(engine: EngineApi, definitionId: string, input = '{"n":1}'): Promise<RunStartedResult> {
  return engine.start({ namespace: 'default', definitionId, input });
}

/** The open task of a node, as a worker would hear of it. */
export function openTask(store: MemoryStore, runId: string, nodeId: string): { taskId: string; attempt: number } {
  for (const [taskId, row] of store.tasks.get(runId) ?? []) {
    const { nodeId: node, status, attempt } = row.state;
    if (node === nodeId && (status === 'SCHEDULED' || status === 'BACKOFF')) return { taskId, attempt };
  }
  throw new Error(`no open task of ${nodeId}`);
}

export function completed(
  store: MemoryStore,
  runId: string,
  nodeId: string,
  output = '{"ok":true}',
): Parameters<EngineApi['report']>[0] {
  return { namespace: 'default', runId, nodeId, ...openTask(store, runId, nodeId), status: 'completed', output };
}

export function failed(
  store: MemoryStore,
  runId: string,
  nodeId: string,
  code = 'TASK_FAILED',
): Parameters<EngineApi['report']>[0] {
  const failure = { code, message: 'it did not work' };
  return { namespace: 'default', runId, nodeId, ...openTask(store, runId, nodeId), status: 'failed', failure };
}
