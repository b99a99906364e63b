import type { EngineApi, EventNames, StartRun } from '@baton/engine';
import { single } from '@baton/engine/testing';
import {
  completedReport,
  engineOn,
  failedReport,
  NAMESPACE,
  openTasks,
  publish,
} from '@baton/storage-postgres/testing';
import { createDatabase } from '@baton/testkit';
import { Client, type QueryResultRow } from 'pg';
import { sagaTypeOf } from '../runs/journal-words.js';

/** Three steps of which two can be undone, a wait between them, and every deadline that a definition can have. */
export const saga = JSON.stringify({
  id: 'saga',
  version: 1,
  deadline: 'P1D',
  compensationTimeout: 'PT1H',
  nodes: [
    { id: 'reserve', type: 'task', queue: 'work', compensate: { task: 'undo.reserve', retry: { maxAttempts: 1 } } },
    {
      id: 'charge',
      type: 'task',
      queue: 'work',
      after: ['reserve'],
      retry: { maxAttempts: 3, initialInterval: 'PT1H' },
      compensate: { task: 'undo.charge', retry: { maxAttempts: 1 } },
    },
    { id: 'approve', type: 'wait', signal: 'go', after: ['charge'], timeout: 'PT1H' },
    { id: 'ship', type: 'task', queue: 'work', after: ['approve'], retry: { maxAttempts: 1 } },
  ],
});

export interface Queries {
  query<Row extends QueryResultRow>(sql: string, values?: unknown[]): Promise<readonly Row[]>;
}

/** Runs by what became of them, each as the engine left it. */
export type Story =
  | 'fresh'
  | 'leased'
  | 'backoff'
  | 'waiting'
  | 'shipping'
  | 'succeeded'
  | 'compensating'
  | 'compensated'
  | 'undo failed'
  | 'undo tried again'
  | 'cut off'
  | 'cancelled'
  | 'failed'
  | 'retried'
  | 'keyed'
  | 'local';

export interface Healthy {
  readonly runs: Readonly<Record<Story, string>>;
  /** A database of its own with the same rows. */
  copy(): Promise<Copy>;
  close(): Promise<void>;
}

export interface Copy extends Queries {
  readonly url: string;
  drop(): Promise<void>;
}

/** A database that the real engine has written, in every state that a run can be in. */
export async function healthyDatabase(): Promise<Healthy> {
  const { url, drop } = await createDatabase({ major: 18 });
  const client = await connected(url);
  const database: Queries = { query: async (sql, values) => (await client.query(sql, values)).rows };
  for (const text of [saga, single]) await publish(database, text);
  const one = engineOn(url);
  const embedded = engineOn(url, { route: 'local', events: sagaNames });
  const runs = await new Stories(database, one.engine, embedded.engine).all();
  await one.close();
  await embedded.close();
  // A database that somebody is connected to cannot be copied.
  await client.end();
  let copies = 0;
  return { runs, copy: () => copyOf(url, (copies += 1)), close: drop };
}

async function copyOf(url: string, number: number): Promise<Copy> {
  const source = new URL(url).pathname.slice(1);
  const name = `${source}_${number}`;
  const admin = await connected(withDatabase(url, 'postgres'));
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${source}`);
  const client = await connected(withDatabase(url, name));
  return {
    url: withDatabase(url, name),
    query: async (sql, values) => (await client.query(sql, values)).rows,
    async drop() {
      await client.query('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = $1', [
        name,
      ]);
      await client.end();
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.toString();
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'doctor spec' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** As the embedded runtime names its events. */
const sagaNames: EventNames = {
  topic: (namespace) => `baton.${namespace}.events`,
  describe: (run, { kind, seq, nodeId }) => ({
    type: sagaTypeOf(run.definitionId, kind),
    payload: JSON.stringify({ instanceId: run.runId, step: nodeId ?? undefined, version: seq }),
  }),
};

class Stories {
  constructor(
    private readonly database: Queries,
    private readonly engine: EngineApi,
    private readonly embedded: EngineApi,
  ) {}

  async all(): Promise<Record<Story, string>> {
    return {
      fresh: await this.start('saga'),
      leased: await this.leased(),
      backoff: await this.backoff(),
      waiting: await this.waiting(),
      shipping: await this.shipping(),
      succeeded: await this.succeeded(),
      compensating: await this.compensating(),
      compensated: await this.undone(['charge', 'reserve']),
      'undo failed': await this.undoFailed(),
      'undo tried again': await this.undoTriedAgain(),
      'cut off': await this.cutOff(),
      cancelled: await this.cancelled(),
      failed: await this.failed(),
      retried: await this.retried(),
      keyed: await this.start('saga', { idempotencyKey: 'idem-1', businessKey: 'order-1' }),
      local: await this.local(),
    };
  }

  private async start(definitionId: string, over: Partial<StartRun> = {}): Promise<string> {
    return (await this.engine.start({ namespace: NAMESPACE, definitionId, input: '{"n":1}', ...over })).runId;
  }

  private async complete(runId: string): Promise<void> {
    const [task] = (await openTasks(this.database)).get(runId) ?? [];
    if (task === undefined) throw new Error(`run ${runId} has no open task`);
    await this.engine.report(completedReport(runId, task));
  }

  private async fail(runId: string): Promise<void> {
    const [task] = (await openTasks(this.database)).get(runId) ?? [];
    if (task === undefined) throw new Error(`run ${runId} has no open task`);
    await this.engine.report(failedReport(runId, task));
  }

  /** Of the embedded runtime: its second step can be claimed. */
  private async local(): Promise<string> {
    const start = { namespace: NAMESPACE, definitionId: 'saga', input: '{"n":1}' };
    const { runId } = await this.embedded.start(start);
    const [task] = (await openTasks(this.database)).get(runId) ?? [];
    if (task === undefined) throw new Error(`run ${runId} has no open task`);
    await this.embedded.report(completedReport(runId, task));
    return runId;
  }

  private async leased(): Promise<string> {
    const runId = await this.start('saga');
    const [task] = (await openTasks(this.database)).get(runId) ?? [];
    const call = { namespace: NAMESPACE, runId, owner: 'worker-1', callId: 'call-1', ttlMs: 0, wantInput: false };
    await this.engine.acquire({ ...call, taskId: task?.taskId ?? '', attempt: 1 });
    return runId;
  }

  private async backoff(): Promise<string> {
    const runId = await this.start('saga');
    await this.complete(runId);
    await this.fail(runId);
    return runId;
  }

  private async waiting(): Promise<string> {
    const runId = await this.start('saga');
    await this.complete(runId);
    await this.complete(runId);
    const signal = { namespace: NAMESPACE, runId, name: 'nobody waits', payload: '1', signalId: 'early' };
    await this.engine.signal(signal);
    return runId;
  }

  private async shipping(): Promise<string> {
    const runId = await this.start('saga');
    await this.engine.signal({ namespace: NAMESPACE, runId, name: 'go', payload: '1', signalId: 'go' });
    await this.complete(runId);
    await this.complete(runId);
    return runId;
  }

  private async succeeded(): Promise<string> {
    const runId = await this.shipping();
    await this.complete(runId);
    return runId;
  }

  private async compensating(): Promise<string> {
    const runId = await this.shipping();
    await this.fail(runId);
    return runId;
  }

  private async undone(nodes: readonly string[]): Promise<string> {
    const runId = await this.compensating();
    for (const _node of nodes) await this.complete(runId);
    return runId;
  }

  private async undoFailed(): Promise<string> {
    const runId = await this.compensating();
    await this.fail(runId);
    await this.complete(runId);
    return runId;
  }

  private async undoTriedAgain(): Promise<string> {
    const runId = await this.undoFailed();
    await this.engine.retryCompensation({ namespace: NAMESPACE, runId, requestId: `undo-${runId}` });
    await this.complete(runId);
    return runId;
  }

  private async cutOff(): Promise<string> {
    const runId = await this.leased();
    await this.engine.cancel({ namespace: NAMESPACE, runId, requestId: `cut-${runId}`, reason: 'asked' });
    return runId;
  }

  private async cancelled(): Promise<string> {
    const runId = await this.backoff();
    await this.engine.cancel({ namespace: NAMESPACE, runId, requestId: `cancel-${runId}`, reason: 'asked' });
    await this.complete(runId);
    return runId;
  }

  private async failed(): Promise<string> {
    const runId = await this.start('single');
    await this.fail(runId);
    return runId;
  }

  private async retried(): Promise<string> {
    const runId = await this.failed();
    await this.engine.retry({ namespace: NAMESPACE, runId, requestId: `retry-${runId}` });
    return runId;
  }
}
