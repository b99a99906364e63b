import { randomUUID } from 'node:crypto';
import { createEngine, type EngineApi, type EngineOptions, type Store, type TaskReport } from '@baton/engine';
import { engineOptions } from '@baton/engine/testing';
import type { PoolOptions } from '../pool.js';
import { createPostgresStore } from '../store.js';
import type { StoreFixture } from './store-fixture.js';
import { NAMESPACE, newRunId } from './writes.js';

/** An engine of its own, as another process would have it: own pool, own cache. */
export interface EngineOnPostgres {
  readonly engine: EngineApi;
  readonly store: Store;
  close(): Promise<void>;
}

export function engineOn(
  url: string,
  options: Partial<EngineOptions> = {},
  /** Puts something in the way of its statements. */
  around: (store: Store) => Store = (store) => store,
  pool: Partial<PoolOptions> = {},
): EngineOnPostgres {
  const store = around(createPostgresStore({ url, poolSize: 4, ...pool }));
  const { limits: _limits, ...base } = engineOptions(store, Date.now());
  const engine = createEngine({ ...base, newId: () => newRunId(), now: Date.now, random: Math.random, ...options });
  return {
    engine,
    store,
    async close() {
      await engine.close();
      await store.close();
    },
  };
}

export async function publish(fixture: Pick<StoreFixture, 'query'>, text: string): Promise<void> {
  const { id, version } = JSON.parse(text) as { id: string; version: number };
  await fixture.query(
    'INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash) VALUES ($1, $2, $3, $4, $5)',
    [NAMESPACE, id, version, text, randomUUID()],
  );
  await fixture.query(
    `INSERT INTO baton.deployed_definitions (namespace, id, version) VALUES ($1, $2, $3)
     ON CONFLICT (namespace, id) DO UPDATE SET version = excluded.version`,
    [NAMESPACE, id, version],
  );
}

export interface OpenTask {
  readonly taskId: string;
  readonly nodeId: string;
  readonly attempt: number;
}

/** What workers would have in their hands, by run. */
export async function openTasks(
  fixture: Pick<StoreFixture, 'query'>,
): Promise<ReadonlyMap<string, readonly OpenTask[]>> {
  const rows = await fixture.query<{ run_id: string; task_id: string; node_id: string; attempt: number }>(
    `SELECT run_id, task_id, node_id, attempt FROM baton.task_instances WHERE status IN ('SCHEDULED', 'BACKOFF')`,
  );
  const open = new Map<string, OpenTask[]>();
  for (const row of rows) {
    const tasks = open.get(row.run_id) ?? [];
    tasks.push({ taskId: row.task_id, nodeId: row.node_id, attempt: row.attempt });
    open.set(row.run_id, tasks);
  }
  return open;
}

export function completedReport(runId: string, task: OpenTask, output = '{"ok":true}'): TaskReport {
  return { namespace: NAMESPACE, runId, ...task, status: 'completed', output };
}

export function failedReport(runId: string, task: OpenTask): TaskReport {
  const failure = { code: 'TASK_FAILED', message: 'it did not work' };
  return { namespace: NAMESPACE, runId, ...task, status: 'failed', failure };
}
