import type { EngineApi, LeasedTask } from '@baton/engine';
import { Client } from 'pg';
import { createEventReader } from '../events.js';
import type { PoolOptions } from '../pool.js';
import { createTimerStore, type TimerStore } from '../timer-store.js';
import { engineOn, publish } from './engine-on-postgres.js';
import { NAMESPACE } from './writes.js';

const QUEUE = 'life';
const retry = { maxAttempts: 3, initialInterval: 'PT1S' };
const definition = JSON.stringify({
  id: 'life',
  version: 1,
  nodes: [
    { id: 'reserve', type: 'task', queue: QUEUE, retry, compensate: { task: 'undo.reserve' } },
    { id: 'paid', type: 'wait', signal: 'paid', after: ['reserve'], timeout: 'PT1H' },
    { id: 'ship', type: 'task', queue: QUEUE, after: ['paid'] },
  ],
});

/** What a whole life of two runs has left behind, as far as it is the same everywhere. */
export interface Life {
  /** Step, kind, attempt and failures of each task, in the order in which it was claimed. */
  readonly claims: readonly string[];
  readonly statuses: readonly string[];
  readonly journal: readonly string[];
  /** Events of each run have come in the order of the run, each once. */
  readonly eventsInOrder: boolean;
  readonly events: number;
}

/**
 * Everything that the embedded runtime does with a database: start, claim, report, retry after a backoff, signal, a timer
 * that fires, undo, events. On a database that is migrated.
 */
export async function liveOn(url: string, pool: Partial<PoolOptions> = {}): Promise<Life> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { engine, close } = engineOn(url, { route: 'local', transactions: 'single-statement' }, undefined, pool);
  const timers = createTimerStore({ url, ...pool });
  try {
    await publish({ query: async (sql, values) => (await client.query(sql, values)).rows }, definition);
    const owner = new Owner(client, engine, timers);
    const paid = await owner.start();
    await owner.work('failed');
    await owner.passTime('2 seconds');
    await owner.work('completed');
    await engine.signal({ namespace: NAMESPACE, runId: paid, name: 'paid', payload: '1', signalId: 'payment' });
    await owner.work('completed');
    const unpaid = await owner.start();
    await owner.work('completed');
    await owner.passTime('2 hours');
    await owner.work('completed');
    return { claims: owner.claims, ...(await leftBehind(engine, [paid, unpaid])), ...(await told(url, pool)) };
  } finally {
    await timers.close();
    await close();
    await client.end();
  }
}

/** One process of a service: claims what waits and reports what became of it. */
class Owner {
  readonly claims: string[] = [];
  private calls = 0;

  constructor(
    private readonly client: Client,
    private readonly engine: EngineApi,
    private readonly timers: TimerStore,
  ) {}

  async start(): Promise<string> {
    return (await this.engine.start({ namespace: NAMESPACE, definitionId: 'life', input: '{"n":1}' })).runId;
  }

  async work(how: 'completed' | 'failed'): Promise<void> {
    const definitions = [{ id: 'life', version: 1, queue: QUEUE }];
    const callId = String((this.calls += 1));
    const call = { namespace: NAMESPACE, definitions, owner: 'process', callId, ttlMs: 60_000, limit: 10 };
    const [task] = await this.engine.claim(call);
    if (task === undefined) throw new Error('there was nothing to claim');
    this.claims.push(`${task.nodeId} ${task.kind} ${task.attempt} ${task.failures}`);
    await this.engine.heartbeat({ ...idOf(task), leaseId: task.leaseId, ttlMs: 60_000, progress: '{"at":1}' });
    const failure = { code: 'TASK_FAILED', message: 'it did not work' };
    const more = how === 'completed' ? { output: '{"ok":true}' } : { failure, retryable: true };
    const report = { ...idOf(task), leaseId: task.leaseId, status: how, ...more };
    const outcome = await this.engine.report(report);
    if (outcome !== 'APPLIED') throw new Error(`the report was answered ${outcome}`);
  }

  /** The clock of the database goes on, and what is due by it is handled. */
  async passTime(interval: string): Promise<void> {
    await this.client.query(
      `CREATE OR REPLACE FUNCTION baton.now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
       AS $$ SELECT clock_timestamp() + interval '${interval}' $$`,
    );
    const { items } = await this.timers.readDue(10);
    if (items.length === 0) throw new Error(`nothing was due after ${interval}`);
    for (const { outcome, reason } of await this.engine.fireDue(items)) {
      if (outcome === 'FAILED') throw new Error(`firing failed: ${reason ?? ''}`);
    }
  }
}

function idOf({ namespace, runId, taskId, nodeId, attempt }: LeasedTask) {
  return { namespace, runId, taskId, nodeId, attempt };
}

async function leftBehind(engine: EngineApi, runIds: readonly string[]) {
  const statuses: string[] = [];
  const journal: string[] = [];
  for (const runId of runIds) {
    statuses.push((await engine.getRun(NAMESPACE, runId, true)).run.status);
    const entries = await engine.history(NAMESPACE, runId, 0, 1_000);
    journal.push(
      ...entries.map(({ kind, nodeId, code }) => [kind, nodeId, code].filter((part) => part !== null).join(' ')),
    );
  }
  return { statuses, journal };
}

async function told(url: string, pool: Partial<PoolOptions>) {
  const reader = createEventReader({ url, ...pool });
  try {
    const last = new Map<string, number>();
    let events = 0;
    let eventsInOrder = true;
    for (let cursor: string | null = null; ;) {
      const page = await reader.read(NAMESPACE, cursor, 3);
      if (page.events.length === 0) return { events, eventsInOrder };
      for (const { runId, runSeq } of page.events) {
        eventsInOrder &&= runSeq === (last.get(runId) ?? 0) + 1;
        last.set(runId, runSeq);
      }
      events += page.events.length;
      cursor = page.next;
    }
  } finally {
    await reader.close();
  }
}
