import { randomUUID } from 'node:crypto';
import type { RunStatus } from '@baton/core';
import type { ListRuns } from '@baton/engine';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import {
  acquireCall,
  journalRow,
  NAMESPACE,
  newRunId,
  refOf,
  reportWrite,
  RUNNING,
  runWrite,
  startRuns,
  startWrite,
} from './testing/writes.js';

describe.each(MAJORS)('what people ask of the store on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;

  beforeAll(async () => {
    fixture = await storeFixture(major);
  });
  afterAll(() => fixture.close());

  it('shows a run with its tasks, payloads only when they are asked for', async () => {
    const [run] = await startRuns(fixture.store, 1);
    await fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run!)] });
    const short = await fixture.store.getRun(NAMESPACE, run!.runId, false);
    expect(short).not.toHaveProperty('input');
    expect(short?.tasks[0]).not.toHaveProperty('input');
    const details = await fixture.store.getRun(NAMESPACE, run!.runId, true);
    expect(details).toMatchObject({
      run: { runId: run!.runId, status: 'RUNNING', definitionId: 'order', endedAt: null, stuckReason: null },
      input: '{"order":7}',
      output: null,
      bufferedSignals: [],
    });
    const tasks = new Map(details?.tasks.map((task) => [task.nodeId, task]));
    expect(tasks.get('reserve')).toMatchObject({
      status: 'SUCCEEDED',
      output: '{"ok":true}',
      settledAt: expect.any(Date),
    });
    expect(tasks.get('charge')).toMatchObject({ status: 'SCHEDULED', settledAt: null, input: '{"n":1}' });
    expect(await fixture.store.getRun('stranger', run!.runId, true)).toBeUndefined();
  });

  it('leaves out the payloads of tasks that no process could hold together, and keeps those of the run', async () => {
    const [run] = await startRuns(fixture.store, 1);
    await fixture.query(
      `UPDATE baton.task_instances SET output = '"' || repeat('x', 34000000) || '"' WHERE run_id = $1 AND node_id = 'reserve'`,
      [run!.runId],
    );
    const details = await fixture.store.getRun(NAMESPACE, run!.runId, true);
    expect(details).toMatchObject({ payloadsLeftOut: true, input: '{"order":7}' });
    expect(details?.tasks[0]).not.toHaveProperty('output');
    expect(await fixture.store.getRun(NAMESPACE, run!.runId, false)).not.toHaveProperty('payloadsLeftOut');
  });

  it('shows a leased task as RUNNING, with its owner (R9), and what was buffered', async () => {
    const [run] = await startRuns(fixture.store, 1);
    await fixture.store.acquire([acquireCall(run!, { owner: 'worker-7' })]);
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        runWrite(run!.runId, 1, {
          signals: [
            {
              op: 'insert-buffered',
              signalId: 's1',
              name: 'paid',
              payload: '1',
              payloadHash: 'h',
              expiresInMs: null,
              consumedBy: null,
              seq: 2,
            },
          ],
        }),
      ],
    });
    const details = await fixture.store.getRun(NAMESPACE, run!.runId, false);
    expect(details?.tasks).toMatchObject([{ status: 'RUNNING', leaseOwner: 'worker-7' }]);
    expect(details?.bufferedSignals).toEqual([{ signalId: 's1', name: 'paid', receivedAt: expect.any(Date) }]);
  });

  it('lists runs page by page, newest first, with every filter (B73)', async () => {
    const namespace = `list-${major}`;
    const statuses: readonly RunStatus[] = [
      'RUNNING',
      'SUCCEEDED',
      'FAILED',
      'RUNNING',
      'SUCCEEDED',
      'RUNNING',
      'FAILED',
    ];
    const runIds = statuses.map((_status, index) => newRunId(Date.now() + index));
    await fixture.store.writeStarts({
      batchId: randomUUID(),
      starts: statuses.map((status, index) => {
        const start = startWrite(
          runIds[index]!,
          { definitionId: index % 2 === 0 ? 'even' : 'odd' },
          { run: { ...RUNNING, status, definitionVersion: index < 3 ? 1 : 2 } },
        );
        return { ...start, write: { ...start.write, namespace } };
      }),
    });
    const list = async (query: Partial<ListRuns>): Promise<readonly (readonly number[])[]> => {
      const pages: number[][] = [];
      let cursor: string | undefined;
      do {
        const page = await fixture.store.listRuns({
          namespace,
          pageSize: 3,
          ...query,
          ...(cursor !== undefined && { cursor }),
        });
        pages.push(page.runs.map((run) => runIds.indexOf(run.runId)));
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      return pages;
    };
    expect(await list({})).toEqual([[6, 5, 4], [3, 2, 1], [0]]);
    expect(await list({ definitionId: 'even' })).toEqual([[6, 4, 2], [0]]);
    expect(await list({ definitionVersion: 1 })).toEqual([[2, 1, 0]]);
    expect(await list({ statuses: ['RUNNING', 'FAILED'] })).toEqual([
      [6, 5, 3],
      [2, 0],
    ]);
    expect(await list({ statuses: ['RUNNING'], definitionId: 'odd' })).toEqual([[5, 3]]);
    expect(await list({ statuses: ['EXPIRED'] })).toEqual([[]]);
    expect(await list({ namespace: 'nobody' })).toEqual([[]]);
  });

  it('refuses a cursor that it has not given out', async () => {
    const listing = fixture.store.listRuns({ namespace: NAMESPACE, pageSize: 3, cursor: 'made-up' });
    await expect(listing).rejects.toMatchObject({ name: 'EngineError', kind: 'invalid', code: 'CURSOR_INVALID' });
  });

  it('reads the history of a run in order, from any place', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const journal = [2, 3, 4, 5].map((seq) => journalRow(seq, { detail: `entry ${seq}` }));
    await fixture.store.write({ batchId: randomUUID(), runs: [runWrite(run!.runId, 1, { journal })] });
    const page = await fixture.store.history(NAMESPACE, run!.runId, 2, 2);
    expect(page.map((entry) => [entry.seq, entry.detail])).toEqual([
      [3, 'entry 3'],
      [4, 'entry 4'],
    ]);
    expect(page[0]!.at).toBeInstanceOf(Date);
    expect(await fixture.store.history('stranger', run!.runId, 0, 10)).toEqual([]);
  });

  it('loads a definition even when it is deleted, and knows which version is deployed', async () => {
    await fixture.query(
      `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash, deleted_at)
       VALUES ('default', 'order', 3, '{ "id": "order" }', 'h', now())`,
    );
    await fixture.query(
      `INSERT INTO baton.deployed_definitions (namespace, id, version) VALUES ('default', 'order', 3)`,
    );
    expect(await fixture.store.loadDefinition('default', 'order', 3)).toBe('{ "id": "order" }');
    expect(await fixture.store.loadDefinition('default', 'order', 4)).toBeUndefined();
    expect(await fixture.store.deployedVersion('default', 'order')).toBe(3);
    expect(await fixture.store.deployedVersion('stranger', 'order')).toBeUndefined();
  });

  it('puts off a wake-up that could not be handled, longer each time, at most five minutes (R21)', async () => {
    const [run] = await startRuns(fixture.store, 1);
    await fixture.moveClock('301 seconds');
    await fixture.stopClock();
    const push = async () => {
      const failures = await fixture.store.pushWake(NAMESPACE, run!.runId, run!.task.taskId);
      const [row] = await fixture.query<{ pause: number }>(
        `SELECT extract(epoch FROM wake_at - baton.now())::float AS pause FROM baton.task_instances WHERE task_id = $1`,
        [run!.task.taskId],
      );
      return [failures, Math.round(row!.pause)];
    };
    const pushes: number[][] = [];
    for (let n = 0; n < 11; n += 1) pushes.push(await push());
    expect(pushes.slice(0, 4)).toEqual([
      [1, 1],
      [2, 2],
      [3, 4],
      [4, 8],
    ]);
    expect(pushes.slice(8)).toEqual([
      [9, 256],
      [10, 300],
      [11, 300],
    ]);
    expect(await fixture.store.pushWake('stranger', run!.runId, run!.task.taskId)).toBe(0);
    await fixture.moveClock('0 seconds');
    expect((await fixture.store.statuses([refOf(run!.runId)])).get(run!.runId)).toBe('RUNNING');
  });
});
