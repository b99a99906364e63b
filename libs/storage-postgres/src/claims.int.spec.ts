import { randomUUID } from 'node:crypto';
import type { ClaimTasks, RunStartWrite, TaskWrite } from '@baton/engine';
import { createPostgresStore } from './store.js';
import { isHeld } from './testing/locks.js';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import {
  acquireCall,
  changedTask,
  completedTask,
  DEADLINES,
  dispatchedTask,
  journalRow,
  NAMESPACE,
  newRunId,
  RUNNING,
  runWrite,
  startWrite,
  taskState,
  type StartedRun,
} from './testing/writes.js';

interface LocalStart {
  readonly queue?: string;
  readonly start?: Partial<RunStartWrite>;
  readonly version?: number;
  readonly namespace?: string;
  readonly task?: Partial<TaskWrite>;
}

describe.each(MAJORS)('claims of the embedded runtime on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;
  let queue: string;

  beforeAll(async () => {
    fixture = await storeFixture(major, { library: true });
  });
  afterAll(() => fixture.close());
  beforeEach(() => {
    queue = `q-${randomUUID()}`;
  });
  afterEach(() => fixture.moveClock('0 seconds'));

  const startOne = async (over: LocalStart = {}): Promise<StartedRun> => {
    const { namespace = NAMESPACE, version = 1 } = over;
    const run = { runId: newRunId(), task: taskState() };
    const write = {
      namespace,
      run: { ...RUNNING, definitionVersion: version },
      tasks: [dispatchedTask(run.task, { queue: over.queue ?? queue, ...over.task })],
      journal: [journalRow(1, { kind: 'run.started' })],
    };
    const starts = [startWrite(run.runId, { route: 'local', ...over.start }, write)];
    await fixture.store.writeStarts({ batchId: randomUUID(), starts });
    return run;
  };
  const call = (over: Partial<ClaimTasks> = {}): ClaimTasks => ({
    namespace: NAMESPACE,
    definitions: [{ id: 'order', version: 1, queue }],
    owner: 'process-1',
    callId: randomUUID(),
    ttlMs: 0,
    limit: 10,
    ...over,
  });
  const claimed = async (over: Partial<ClaimTasks> = {}) =>
    (await fixture.store.claim(call(over))).map(({ runId }) => runId);

  it('leases a task with everything that its step needs, its row as an acquire leaves it (R9, R14)', async () => {
    const traceparent = '00-aa-bb-01';
    const run = await startOne({ start: { traceparent } });
    const [task] = await fixture.store.claim(call({ ttlMs: 5_000 }));
    expect(task).toEqual({
      namespace: NAMESPACE,
      runId: run.runId,
      taskId: run.task.taskId,
      nodeId: 'reserve',
      item: 0,
      kind: 'forward',
      generation: 1,
      attempt: 1,
      failures: 0,
      queue,
      handler: 'reserve-stock',
      definitionId: 'order',
      definitionVersion: 1,
      epoch: 1,
      traceparent,
      leaseId: expect.any(String),
      ttlMs: 5_000,
      startToCloseMs: 3_600_000,
      input: '{"n":1}',
    });
    const other = await startOne({ queue: 'other' });
    const { callId } = acquireCall(other);
    await fixture.store.acquire([acquireCall(other, { owner: 'process-1', callId, ttlMs: 5_000 })]);
    const columns = await fixture.query(
      `SELECT lease_owner, lease_id IS NOT NULL AS leased, lease_call IS NOT NULL AS call,
         lease_expires_at - leased_at AS ttl, start_to_close_at - leased_at AS to_close, wake_at - leased_at AS wakes,
         status, attempt, wake_failures
       FROM baton.task_instances WHERE task_id = ANY ($1)`,
      [[run.task.taskId, other.task.taskId]],
    );
    expect(columns[0]).toEqual(columns[1]);
    expect((await fixture.store.readRuns([{ namespace: NAMESPACE, runId: run.runId }])).get(run.runId)).toMatchObject({
      state: { version: 1 },
      leaseIds: new Map([[run.task.taskId, task?.leaseId]]),
    });
  });

  it('takes the oldest first, over all its queues, and no more than it asked for', async () => {
    const second = `${queue}-2`;
    const first = await startOne();
    const next = await startOne({ queue: second });
    const last = await startOne();
    const definitions = [
      { id: 'order', version: 1, queue },
      { id: 'order', version: 1, queue: second },
    ];
    expect(await claimed({ definitions, limit: 2 })).toEqual([first.runId, next.runId]);
    expect(await claimed({ definitions, limit: 2 })).toEqual([last.runId]);
    expect(await claimed({ definitions, limit: 2 })).toEqual([]);
  });

  it('J5: two claims never share a task, and leave to each other what is locked', async () => {
    await Promise.all(Array.from({ length: 12 }, () => startOne()));
    const all = (await Promise.all(Array.from({ length: 6 }, () => claimed({ limit: 3 })))).flat();
    expect(new Set(all).size).toBe(all.length);
    const rest = await claimed({ limit: 12 });
    expect(new Set([...all, ...rest]).size).toBe(12);

    const locked = await startOne();
    const free = await startOne();
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.task_instances WHERE task_id = $1 FOR UPDATE', [locked.task.taskId]);
    expect(await claimed()).toEqual([free.runId]);
    await holder.query('ROLLBACK');
    expect(await claimed()).toEqual([locked.runId]);
  });

  it('W12: leaves unknown definitions and other versions claimable for others (R29)', async () => {
    const known = await startOne();
    const newer = await startOne({ version: 2 });
    const foreign = await startOne({ start: { definitionId: 'refund' } });
    expect(await claimed()).toEqual([known.runId]);
    expect(await claimed({ definitions: [{ id: 'order', version: 2, queue }] })).toEqual([newer.runId]);
    expect(await claimed({ definitions: [{ id: 'refund', version: 1, queue }] })).toEqual([foreign.runId]);
    expect(await claimed({ definitions: [] })).toEqual([]);
  });

  it('R29: never takes what goes over Kafka, and R28: nothing of another namespace', async () => {
    await startOne({ start: { route: 'kafka' } });
    const theirs = await startOne({ namespace: 'other' });
    expect(await claimed()).toEqual([]);
    expect(await claimed({ namespace: 'other' })).toEqual([theirs.runId]);
  });

  it('J5: takes nothing that is leased, cut off, waits for its backoff, is done, or whose run has ended', async () => {
    const leased = await startOne();
    await fixture.store.acquire([acquireCall(leased)]);
    const cutOff = await startOne();
    const backoff = await startOne();
    const done = await startOne();
    const over = await startOne();
    const write = (run: StartedRun, task: TaskWrite) => runWrite(run.runId, 1, { tasks: [task] });
    const cut = { ...cutOff.task, cutOff: true };
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        write(cutOff, changedTask(cut, { wake: { kind: 'cut-off', ms: 30_000 } })),
        write(backoff, changedTask({ ...backoff.task, status: 'BACKOFF' }, { wake: { kind: 'backoff', ms: 1_000 } })),
        write(done, completedTask(done.task)),
      ],
    });
    // No write of the engine leaves such a row behind; a claim does not rely on it.
    await fixture.query(`UPDATE baton.workflow_runs SET status = 'CANCELLED', ended_at = now() WHERE run_id = $1`, [
      over.runId,
    ]);
    await fixture.moveClock('2 minutes');
    expect(await claimed()).toEqual([]);
  });

  it('J8: an expired lease is not granted again: its timer decides on it (R9)', async () => {
    const run = await startOne();
    expect(await claimed({ ttlMs: 1_000 })).toEqual([run.runId]);
    await fixture.moveClock('10 seconds');
    expect(await claimed()).toEqual([]);
  });

  it('gives the same leases to the same call again, and nothing else, while they last (R10)', async () => {
    const runs = [await startOne(), await startOne()];
    const once = call({ limit: 2, ttlMs: 10_000 });
    const first = await fixture.store.claim(once);
    await startOne();
    await fixture.moveClock('4 seconds');
    const again = await fixture.store.claim(once);
    expect(again.map(({ leaseId }) => leaseId)).toEqual(first.map(({ leaseId }) => leaseId));
    expect(again.map(({ ttlMs, ...task }) => task)).toEqual(first.map(({ ttlMs, ...task }) => task));
    expect(again.map(({ runId }) => runId)).toEqual(runs.map(({ runId }) => runId));
    for (const { ttlMs } of again) expect(ttlMs).toBeLessThanOrEqual(6_000);
    expect((await fixture.store.claim({ ...once, owner: 'process-2' })).length).toBe(1);
    await fixture.moveClock('11 seconds');
    expect(await fixture.store.claim(once)).toEqual([]);
  });

  it('gives the progress of the last attempt to the next one', async () => {
    const run = await startOne();
    const [lease] = await fixture.store.claim(call());
    await fixture.store.heartbeat([{ ...lease!, ttlMs: 0, progress: '{"at":3}' }]);
    const next = { ...run.task, attempt: 2, failures: 1 };
    const again = changedTask(next, {
      fence: { attempt: 1 },
      wake: { kind: 'dispatch', deadlines: DEADLINES, lease: null },
    });
    await fixture.store.write({ batchId: randomUUID(), runs: [runWrite(run.runId, 1, { tasks: [again] })] });
    expect(await fixture.store.claim(call())).toMatchObject([
      { runId: run.runId, attempt: 2, failures: 1, progress: '{"at":3}' },
    ]);
  });

  it('W2: looking takes no lease and no lock, and what was seen can be acquired', async () => {
    const run = await startOne();
    await startOne({ version: 2 });
    const definitions = call().definitions;
    const seen = await fixture.store.claimable(NAMESPACE, definitions, 10);
    const { leaseId, ttlMs, startToCloseMs, input, progress, ...task } = (await fixture.store.claim(call()))[0]!;
    expect(seen).toEqual([task]);
    expect(await fixture.store.claimable(NAMESPACE, definitions, 10)).toEqual([]);
    const session = await fixture.connect();
    expect(await isHeld(session, 'task_instances', 'task_id = $1', [run.task.taskId])).toBe(false);
    await startOne();
    await startOne();
    expect(await fixture.store.claimable(NAMESPACE, definitions, 1)).toHaveLength(1);
  });

  it('P2: 8 stores x 5 claims over 30 runs: each is claimed exactly once, none is lost', async () => {
    const runs = await Promise.all(Array.from({ length: 30 }, () => startOne()));
    const stores = Array.from({ length: 8 }, () => createPostgresStore({ url: fixture.url, poolSize: 2 }));
    try {
      const each = await Promise.all(
        stores.map(async (store, index) => {
          const got: string[] = [];
          for (let turn = 0; turn < 5; turn += 1) {
            got.push(...(await store.claim(call({ owner: `process-${index}`, limit: 2 }))).map(({ runId }) => runId));
          }
          return got;
        }),
      );
      const rest = await claimed({ limit: 30 });
      const all = [...each.flat(), ...rest];
      expect(all.length).toBe(30);
      expect(new Set(all)).toEqual(new Set(runs.map(({ runId }) => runId)));
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  });
});
