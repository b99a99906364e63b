import { randomUUID } from 'node:crypto';
import type { EngineApi } from '@baton/engine';
import { chain, diamond } from '@baton/engine/testing';
import { eventually } from '@baton/testkit';
import { createPostgresStore } from './store.js';
import {
  completedReport,
  engineOn,
  openTasks,
  publish,
  type EngineOnPostgres,
  type OpenTask,
} from './testing/engine-on-postgres.js';
import { storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { acquireCall, journalRow, NAMESPACE, RUNNING, runWrite, startRuns } from './testing/writes.js';

const KIB = 1_024;

describe('payloads and hot rows on PostgreSQL', () => {
  let fixture: StoreFixture;
  let opened: EngineOnPostgres;
  let engine: EngineApi;

  beforeAll(async () => {
    fixture = await storeFixture();
    for (const text of [chain, diamond]) await publish(fixture, text);
    opened = engineOn(fixture.url);
    engine = opened.engine;
  });
  afterAll(async () => {
    await opened.close();
    await fixture.close();
  });

  const start = async (definitionId: string, input: string): Promise<string> =>
    (await engine.start({ namespace: NAMESPACE, definitionId, input })).runId;

  const taskOf = async (runId: string, nodeId: string): Promise<OpenTask> =>
    (await openTasks(fixture)).get(runId)!.find((task) => task.nodeId === nodeId)!;

  const lease = { owner: 'w', callId: 'c', ttlMs: 0, wantInput: true };

  /** Where a text is: tables, and for messages their kind. */
  async function placesOf(text: string): Promise<readonly string[]> {
    const tables = await fixture.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'baton' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
    );
    const places: string[] = [];
    for (const { name } of tables) {
      const kind = name === 'outbox' ? `'outbox ' || type` : `'${name}'`;
      const found = await fixture.query<{ place: string }>(
        `SELECT DISTINCT ${kind} AS place FROM baton.${name} t WHERE strpos(t::text, $1) > 0`,
        [text],
      );
      places.push(...found.map(({ place }) => place));
    }
    return places.sort();
  }

  it('R35: journal, events and run rows hold no byte of a payload', async () => {
    const runId = await start('diamond', '"input-7f3a"');
    await engine.signal({ namespace: NAMESPACE, runId, name: 'go', payload: '"signal-7f3a"', signalId: 's' });
    await engine.report(completedReport(runId, await taskOf(runId, 'top'), '"output-7f3a"'));
    // Taken by a wait that is open already, beside the one that is kept until its wait opens.
    const other = await start('diamond', '"input-7f3a"');
    await engine.report(completedReport(other, await taskOf(other, 'top'), '"output-7f3a"'));
    const direct = { namespace: NAMESPACE, runId: other, name: 'go', payload: '"signal-7f3a"', signalId: 's' };
    expect(await engine.signal(direct)).toEqual({ delivered: true, duplicate: false });
    const left = await taskOf(runId, 'left');
    const { leaseId } = await engine.acquire({ namespace: NAMESPACE, runId, ...left, ...lease });
    const beat = { namespace: NAMESPACE, runId, ...left, leaseId: leaseId!, ttlMs: 0, progress: '"progress-7f3a"' };
    expect((await engine.heartbeat(beat)).status).toBe('OK');
    for (const nodeId of ['left', 'right']) {
      await engine.report(completedReport(runId, await taskOf(runId, nodeId), '"output-7f3a"'));
    }
    await engine.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
    await engine.report(completedReport(runId, await taskOf(runId, 'left'), '"output-7f3a"'));
    expect(await placesOf('output-7f3a')).toEqual(['outbox task.dispatched', 'task_instances']);
    expect(await placesOf('progress-7f3a')).toEqual(['task_instances']);
    expect(await placesOf('signal-7f3a')).toEqual(['signals', 'task_instances']);
    expect(await placesOf('input-7f3a')).toEqual(['run_payloads']);
    const kinds = (await engine.history(NAMESPACE, runId, 0, 500)).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['signal.consumed', 'node.succeeded', 'node.compensated']));
  });

  it.each([
    ['of 32 KiB goes with its message', 0, true],
    ['that is larger goes with the lease alone', 1, false],
  ])('R35: an input %s', async (_what, more, isInMessage) => {
    // {"from":"…"} is 11 bytes around its text; é takes two.
    const text = `"é${'x'.repeat(32 * KIB - 11 - 2 + more)}"`;
    const input = `{"from":${text}}`;
    expect(Buffer.byteLength(input)).toBe(32 * KIB + more);
    const runId = await start('chain', text);
    const [message] = await fixture.query<{ payload: string }>(
      `SELECT payload FROM baton.outbox WHERE run_id = $1 AND type = 'task.dispatched'`,
      [runId],
    );
    expect((JSON.parse(message!.payload) as { inputBytes: number }).inputBytes).toBe(32 * KIB + more);
    expect(message!.payload.includes(input)).toBe(isInMessage);
    expect(message!.payload.length < 1_000).toBe(!isInMessage);
    const task = await taskOf(runId, 'a');
    expect(await engine.acquire({ namespace: NAMESPACE, runId, ...task, ...lease })).toMatchObject({ input });
  });

  it('R35: the hot row is narrow, and nothing that changes with every event is in an index', async () => {
    const columns = await fixture.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = 'baton' AND table_name = 'workflow_runs'`,
    );
    const names = columns.map(({ name }) => name);
    for (const wide of ['input', 'output', 'search_attributes', 'business_key']) expect(names).not.toContain(wide);
    const indexed = await fixture.query<{ tab: string; col: string }>(
      `SELECT DISTINCT t.relname AS tab, a.attname AS col
       FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = t.oid
         AND (a.attnum = ANY (i.indkey) OR pg_get_expr(i.indpred, i.indrelid) ~ ('\\m' || a.attname || '\\M'))
       WHERE t.relnamespace = 'baton'::regnamespace AND t.relname IN ('workflow_runs', 'task_instances')
         AND a.attnum > 0 ORDER BY 1, 2`,
    );
    const of = (tab: string) => indexed.filter((row) => row.tab === tab).map((row) => row.col);
    expect(of('workflow_runs')).toEqual(['namespace', 'run_id', 'status']);
    // Heartbeats touch none of these (lease_expires_at, progress).
    expect(of('task_instances')).toEqual(['generation', 'item', 'kind', 'node_id', 'run_id', 'task_id', 'wake_at']);
    const room = await fixture.query<{ tab: string }>(
      `SELECT c.relname AS tab FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid
       WHERE h.inhparent = ANY (ARRAY['baton.workflow_runs', 'baton.task_instances']::regclass[])
         AND NOT coalesce(c.reloptions::text LIKE '%fillfactor=%', false)`,
    );
    expect(room).toEqual([]);
  });

  it('R35: updates of running runs, and heartbeats, are HOT', async () => {
    const own = await storeFixture();
    try {
      const store = createPostgresStore({ url: own.url, poolSize: 4 });
      const runs = await startRuns(store, 120);
      const leases = await store.acquire(runs.map((run) => acquireCall(run)));
      for (let round = 1; round <= 4; round += 1) {
        for (let at = 0; at < runs.length; at += 4) {
          const writes = runs.slice(at, at + 4).map(({ runId }) =>
            runWrite(runId, round, {
              run: { ...RUNNING, journalSeq: round + 1 },
              journal: [journalRow(round + 1)],
            }),
          );
          expect((await store.write({ batchId: randomUUID(), runs: writes })).held.size).toBe(4);
        }
        const beats = runs.map(({ runId, task }, index) => ({
          namespace: NAMESPACE,
          runId,
          taskId: task.taskId,
          attempt: 1,
          leaseId: leases[index]!.leaseId!,
          ttlMs: 0,
          progress: `{"round":${round}}`,
        }));
        for (let at = 0; at < beats.length; at += 4) await store.heartbeat(beats.slice(at, at + 4));
      }
      await store.close(); // sessions that end tell their counts
      // The acquire moved wake_at, which is in an index: 120 updates of tasks that cannot be HOT.
      await eventually(async () => (await updates(own)).map(({ all }) => all).join() === '600,480', {
        what: 'the counts',
      });
      const [tasks, runRows] = await updates(own);
      // Not all, and PostgreSQL promises no share: a page that cannot be pruned yet (an older snapshot looks at it, an
      // autovacuum's for one) sends its rows elsewhere. With an index on a column that changes there would be none.
      expect(runRows!.hot / 480).toBeGreaterThan(0.2);
      expect(tasks!.hot / 480).toBeGreaterThan(0.2);
    } finally {
      await own.close();
    }
  });
});

async function updates(fixture: StoreFixture): Promise<readonly { readonly all: number; readonly hot: number }[]> {
  return fixture.query<{ all: number; hot: number }>(
    `SELECT sum(n_tup_upd)::int AS all, sum(n_tup_hot_upd)::int AS hot FROM pg_stat_user_tables
     WHERE relname ~ '^(workflow_runs|task_instances)_' GROUP BY left(relname, 4) ORDER BY left(relname, 4)`,
  );
}
