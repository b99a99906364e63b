import { randomUUID } from 'node:crypto';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import {
  acquireCall,
  changedTask,
  completedTask,
  DEADLINES,
  newRunId,
  NAMESPACE,
  refOf,
  reportWrite,
  RUNNING,
  runWrite,
  startRuns,
  type StartedRun,
} from './testing/writes.js';

describe.each(MAJORS)('leases on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;

  beforeAll(async () => {
    fixture = await storeFixture(major);
  });
  afterAll(() => fixture.close());
  afterEach(() => fixture.moveClock('0 seconds'));

  const oneRun = async (task: Parameters<typeof startRuns>[2] = {}): Promise<StartedRun> => {
    const [run] = await startRuns(fixture.store, 1, task);
    return run!;
  };
  const acquire = async (run: StartedRun, over: Parameters<typeof acquireCall>[1] = {}) =>
    (await fixture.store.acquire([acquireCall(run, over)]))[0]!;
  const heartbeat = async (
    run: StartedRun,
    leaseId: string,
    over: { ttlMs?: number; attempt?: number; progress?: string } = {},
  ) =>
    (
      await fixture.store.heartbeat([
        { namespace: NAMESPACE, runId: run.runId, taskId: run.task.taskId, attempt: 1, leaseId, ttlMs: 0, ...over },
      ])
    )[0]!;
  const rowOf = async (run: StartedRun) =>
    (
      await fixture.query(
        `SELECT lease_id, lease_owner, wake_at,
          extract(epoch FROM lease_expires_at - leased_at)::int AS ttl,
          extract(epoch FROM start_to_close_at - leased_at)::int AS to_close,
          wake_at = lease_expires_at AS wakes_with_lease, wake_at = start_to_close_at AS wakes_with_close
         FROM baton.task_instances WHERE task_id = $1`,
        [run.task.taskId],
      )
    )[0]!;

  it('grants a lease with its times and the input that was asked for, outside of the version (R9, R14)', async () => {
    const run = await oneRun();
    const granted = await acquire(run, { wantInput: true });
    expect(granted).toEqual({
      status: 'GRANTED',
      attempt: 1,
      leaseId: expect.any(String),
      ttlMs: 30_000,
      startToCloseMs: 3_600_000,
      input: '{"n":1}',
    });
    expect(await rowOf(run)).toMatchObject({
      lease_owner: 'worker-1',
      ttl: 30,
      to_close: 3_600,
      wakes_with_lease: true,
    });
    const stored = (await fixture.store.readRuns([refOf(run.runId)])).get(run.runId);
    expect(stored?.state.version).toBe(1);
    expect(stored?.leaseIds.get(run.task.taskId)).toBe(granted.leaseId);
  });

  it('gives the least of what was asked and the heartbeat timeout (R14)', async () => {
    expect(await acquire(await oneRun(), { ttlMs: 5_000 })).toMatchObject({ status: 'GRANTED', ttlMs: 5_000 });
    expect(await acquire(await oneRun(), { ttlMs: 999_000 })).toMatchObject({ status: 'GRANTED', ttlMs: 30_000 });
  });

  it('wakes with the first deadline of the attempt (R12)', async () => {
    const deadlines = { ...DEADLINES, startToCloseMs: 10_000 };
    const run = await oneRun({ wake: { kind: 'dispatch', deadlines, lease: null } });
    await acquire(run);
    expect(await rowOf(run)).toMatchObject({ wakes_with_lease: false, wakes_with_close: true });
  });

  it('answers the current attempt to a worker that names none (R10)', async () => {
    const run = await oneRun();
    const { attempt: _attempt, ...call } = acquireCall(run);
    expect((await fixture.store.acquire([call]))[0]).toMatchObject({ status: 'GRANTED', attempt: 1 });
  });

  it('answers HELD while another worker has it, and the same lease to the same call (R10)', async () => {
    const run = await oneRun();
    const callId = randomUUID();
    const first = await acquire(run, { callId });
    const again = await acquire(run, { callId });
    expect(again).toMatchObject({ status: 'GRANTED', leaseId: first.leaseId });
    expect(again.ttlMs).toBeLessThanOrEqual(30_000);
    expect(again.ttlMs).toBeGreaterThan(20_000);
    expect(await acquire(run, { callId, owner: 'worker-2' })).toEqual({ status: 'HELD' });
    expect(await acquire(run)).toEqual({ status: 'HELD' });
  });

  it('never grants an expired lease again, not even to its own call (R9)', async () => {
    const run = await oneRun();
    const callId = randomUUID();
    await acquire(run, { callId });
    await fixture.moveClock('31 seconds');
    expect(await acquire(run, { callId })).toEqual({ status: 'HELD' });
    expect(await acquire(run)).toEqual({ status: 'HELD' });
  });

  it('answers STALE for an older attempt, a closed one, one in backoff, and an ended run (R10)', async () => {
    const [closed, older, backoff, ended] = await startRuns(fixture.store, 4);
    const wake = { kind: 'dispatch', deadlines: DEADLINES, lease: null } as const;
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        reportWrite(closed!),
        runWrite(older!.runId, 1, {
          tasks: [changedTask({ ...older!.task, attempt: 2 }, { fence: { attempt: 1 }, wake })],
        }),
        runWrite(backoff!.runId, 1, {
          tasks: [changedTask({ ...backoff!.task, status: 'BACKOFF' }, { wake: { kind: 'backoff', ms: 1_000 } })],
        }),
        runWrite(ended!.runId, 1, { run: { ...RUNNING, status: 'CANCELLED', cause: 'cancel' } }),
      ],
    });
    const answers = await fixture.store.acquire([closed!, older!, backoff!, ended!].map((run) => acquireCall(run)));
    expect(answers).toEqual([{ status: 'STALE' }, { status: 'STALE' }, { status: 'STALE' }, { status: 'STALE' }]);
    expect(await acquire(older!, { attempt: 2 })).toMatchObject({ status: 'GRANTED', attempt: 2 });
  });

  it('answers NOT_YET for a row that is missing, of another namespace, or not so far (R10)', async () => {
    const run = await oneRun();
    expect(await acquire({ runId: newRunId(), task: run.task })).toEqual({ status: 'NOT_YET' });
    expect(await acquire(run, { namespace: 'stranger' })).toEqual({ status: 'NOT_YET' });
    expect(await acquire(run, { attempt: 2 })).toEqual({ status: 'NOT_YET' });
  });

  it('answers RETRY for a row that somebody has locked, and grants the others of the batch (R10)', async () => {
    const [locked, free] = await startRuns(fixture.store, 2);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.task_instances WHERE task_id = $1 FOR NO KEY UPDATE', [
      locked!.task.taskId,
    ]);
    const calls = [acquireCall(locked!), acquireCall(free!)];
    expect(await fixture.store.acquire(calls)).toMatchObject([{ status: 'RETRY' }, { status: 'GRANTED' }]);
    expect(await heartbeat(locked!, randomUUID())).toEqual({ status: 'RETRY' });
    await holder.query('ROLLBACK');
    expect(await acquire(locked!)).toMatchObject({ status: 'GRANTED' });
  });

  it('answers two calls about one task in one batch in their order', async () => {
    const run = await oneRun();
    const callId = randomUUID();
    const answers = await fixture.store.acquire([
      acquireCall(run, { callId }),
      acquireCall(run, { owner: 'worker-2' }),
      acquireCall(run, { callId }),
    ]);
    expect(answers.map((answer) => answer.status)).toEqual(['GRANTED', 'HELD', 'GRANTED']);
    expect(answers[2]!.leaseId).toBe(answers[0]!.leaseId);
  });

  it('O6: grants a task to one of many workers that ask at once', async () => {
    const run = await oneRun();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_unused, n) => acquire(run, { owner: `worker-${n}` })),
    );
    expect(answers.filter((answer) => answer.status === 'GRANTED')).toHaveLength(1);
  });

  it('renews a living lease without moving its wake-up, and keeps the progress for the next attempt (R9, R12)', async () => {
    const run = await oneRun();
    const { leaseId } = await acquire(run);
    const before = await rowOf(run);
    await fixture.moveClock('20 seconds');
    expect(await heartbeat(run, leaseId!, { progress: '{"done":3}' })).toEqual({ status: 'OK', ttlMs: 30_000 });
    const after = await rowOf(run);
    expect(after['wake_at']).toEqual(before['wake_at']);
    expect(after['ttl']).toBeGreaterThan(45);
    expect(await heartbeat(run, leaseId!, { ttlMs: 7_000 })).toEqual({ status: 'OK', ttlMs: 7_000 });

    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        runWrite(run.runId, 1, {
          tasks: [
            changedTask(
              { ...run.task, attempt: 2 },
              { fence: { attempt: 1 }, wake: { kind: 'dispatch', deadlines: DEADLINES, lease: null } },
            ),
          ],
        }),
      ],
    });
    expect(await acquire(run, { attempt: 2 })).toMatchObject({ status: 'GRANTED', progress: '{"done":3}' });
  });

  it('O6: refuses a heartbeat after expiry, of another lease, of another attempt, and after the report (R14)', async () => {
    const run = await oneRun();
    const { leaseId } = await acquire(run);
    expect(await heartbeat(run, randomUUID())).toEqual({ status: 'LOST' });
    expect(await heartbeat(run, leaseId!, { attempt: 2 })).toEqual({ status: 'LOST' });
    await fixture.moveClock('31 seconds');
    expect(await heartbeat(run, leaseId!)).toEqual({ status: 'LOST' });
    await fixture.moveClock('0 seconds');
    // The expiry is not decided: the report of that attempt still counts.
    expect((await fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run)] })).held.size).toBe(1);
    expect(await heartbeat(run, leaseId!)).toEqual({ status: 'LOST' });
  });

  it('tells the worker of a cut-off task, renews it to the end of its grace at most, and grants it to nobody (R17, R18)', async () => {
    const run = await oneRun();
    const { leaseId } = await acquire(run);
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [
        runWrite(run.runId, 1, {
          tasks: [changedTask({ ...run.task, cutOff: true }, { wake: { kind: 'cut-off', ms: 12_000 } })],
        }),
      ],
    });
    const answer = await heartbeat(run, leaseId!);
    expect(answer.status).toBe('CANCELLED');
    expect(answer.ttlMs).toBeLessThanOrEqual(12_000);
    expect(await acquire(run)).toEqual({ status: 'STALE' });
    const facts = async () =>
      fixture.store.withLockedRuns([refOf(run.runId)], async (session) =>
        (await session.readNeeds([{ ...refOf(run.runId), needs: { leases: [run.task.taskId] } }]))
          .get(run.runId)
          ?.leases?.get(run.task.taskId),
      );
    expect(await facts()).toMatchObject({ cutOffOver: false, leaseExpired: false });
    await fixture.moveClock('13 seconds');
    expect(await facts()).toMatchObject({ leaseId, cutOffOver: true, leaseExpired: true });
  });

  it('tells what of a task has passed, by the database clock, under its lock alone (R9)', async () => {
    const run = await oneRun({
      wake: {
        kind: 'dispatch',
        deadlines: { ...DEADLINES, scheduleToStartMs: 5_000, scheduleToCloseMs: 60_000 },
        lease: null,
      },
    });
    const needs = { leases: [run.task.taskId, newRunId()] };
    const facts = () =>
      fixture.store.withLockedRuns(
        [refOf(run.runId)],
        async (session) => (await session.readNeeds([{ ...refOf(run.runId), needs }])).get(run.runId)?.leases,
      );
    expect((await fixture.store.readNeeds([{ ...refOf(run.runId), needs }])).get(run.runId)?.leases).toBeUndefined();
    expect([...((await facts())?.keys() ?? [])]).toEqual([run.task.taskId]);
    expect((await facts())?.get(run.task.taskId)).toEqual({
      leaseId: null,
      leaseOwner: null,
      leaseExpired: false,
      startToClosePassed: false,
      scheduleToStartPassed: false,
      scheduleToClosePassed: false,
      redispatchDue: false,
      backoffOver: false,
      cutOffOver: false,
    });
    await fixture.moveClock('6 seconds');
    expect((await facts())?.get(run.task.taskId)).toMatchObject({ scheduleToStartPassed: true, redispatchDue: false });
    await fixture.moveClock('61 seconds');
    expect((await facts())?.get(run.task.taskId)).toMatchObject({ scheduleToClosePassed: true });
  });

  it('lets a report wait for an acquire in flight, and end the attempt all the same', async () => {
    const run = await oneRun();
    const worker = await fixture.connect();
    await worker.query('BEGIN');
    await worker.query(
      `UPDATE baton.task_instances SET lease_id = gen_random_uuid(), lease_expires_at = clock_timestamp() + interval '9 s'
       WHERE task_id = $1`,
      [run.task.taskId],
    );
    const report = fixture.store.write({ batchId: randomUUID(), runs: [reportWrite(run)] });
    await worker.query('COMMIT');
    expect((await report).held.size).toBe(1);
    expect(await rowOf(run)).toMatchObject({ lease_id: null, wake_at: null });
  });

  it('re-arms a wake-up from the instants that the row has by then (R12)', async () => {
    const run = await oneRun();
    const { leaseId } = await acquire(run);
    await fixture.moveClock('20 seconds');
    await heartbeat(run, leaseId!);
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [runWrite(run.runId, 1, { tasks: [changedTask(run.task, { wake: { kind: 'rearm' } })] })],
    });
    expect(await rowOf(run)).toMatchObject({ lease_id: leaseId, wakes_with_lease: true });
    await fixture.store.write({
      batchId: randomUUID(),
      runs: [runWrite(run.runId, 2, { tasks: [completedTask(run.task)] })],
    });
    expect(await rowOf(run)).toMatchObject({ lease_id: null, wake_at: null });
  });
});
