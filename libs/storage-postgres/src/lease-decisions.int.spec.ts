import { randomUUID } from 'node:crypto';
import { FenceMissError, type HeartbeatCall } from '@baton/engine';
import { chain } from '@baton/engine/testing';
import { createPostgresStore } from './store.js';
import { completedReport, engineOn, openTasks, publish, type EngineOnPostgres } from './testing/engine-on-postgres.js';
import { isHeld, waitingFor } from './testing/locks.js';
import { rowsOf } from './testing/rows-of.js';
import { MAJORS, storeFixture, type StoreFixture } from './testing/store-fixture.js';
import { acquireCall, changedTask, DEADLINES, NAMESPACE, refOf, runWrite, startRuns, type StartedRun } from './testing/writes.js'; // prettier-ignore

/** The lease of a task as another process would renew it, without the statement of ours. */
const RENEW = `UPDATE baton.task_instances SET lease_expires_at = baton.now() + interval '30 s' WHERE task_id = $1`;

describe.each(MAJORS)('decisions on leases on PostgreSQL %i', (major) => {
  let fixture: StoreFixture;
  let engine: EngineOnPostgres;

  beforeAll(async () => {
    fixture = await storeFixture(major);
    await publish(fixture, chain);
    engine = engineOn(fixture.url);
  });
  afterEach(() => fixture.moveClock('0 seconds'));
  afterAll(async () => {
    await engine.close();
    await fixture.close();
  });

  const leased = async (): Promise<{ run: StartedRun; leaseId: string }> => {
    const [run] = await startRuns(fixture.store, 1);
    const [answer] = await fixture.store.acquire([acquireCall(run!)]);
    return { run: run!, leaseId: answer!.leaseId! };
  };
  const beat = (run: StartedRun, leaseId: string): HeartbeatCall => ({
    ...{ namespace: NAMESPACE, runId: run.runId, taskId: run.task.taskId, attempt: 1, leaseId, ttlMs: 0 },
  });
  const runRow = async (run: StartedRun) =>
    (await rowsOf(fixture, [run.runId])).filter((row) => row.startsWith('workflow_runs'));
  const expiry = (run: StartedRun, leaseId: string) =>
    runWrite(run.runId, 1, {
      tasks: [
        changedTask(
          { ...run.task, status: 'BACKOFF', losses: 1 },
          { leaseFence: { leaseId, passed: 'lease' }, wake: { kind: 'backoff', ms: 1_000 } },
        ),
      ],
    });
  const started = async () => {
    const { runId } = await engine.engine.start({ namespace: NAMESPACE, definitionId: 'chain', input: '1' });
    const task = (await openTasks(fixture)).get(runId)![0]!;
    const call = { namespace: NAMESPACE, runId, ...task, owner: 'w', callId: randomUUID(), ttlMs: 0, wantInput: false };
    return { runId, task, call, due: { kind: 'task' as const, namespace: NAMESPACE, runId, ...task } };
  };
  const leaseOf = async (taskId: string) => {
    const [row] = await fixture.query<{ attempt: number; lease_id: string | null; losses: number }>(
      'SELECT attempt, lease_id, losses FROM baton.task_instances WHERE task_id = $1',
      [taskId],
    );
    return row!;
  };

  it('R9: acquire and heartbeat need no lock of the run, and leave its row and version as they are', async () => {
    const [run] = await startRuns(fixture.store, 1);
    const before = await runRow(run!);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.workflow_runs WHERE run_id = $1 FOR UPDATE', [run!.runId]);
    const [granted] = await fixture.store.acquire([acquireCall(run!)]);
    expect(granted).toMatchObject({ status: 'GRANTED' });
    expect(await fixture.store.heartbeat([beat(run!, granted!.leaseId!)])).toMatchObject([{ status: 'OK' }]);
    await holder.query('ROLLBACK');
    expect(await runRow(run!)).toEqual(before);
  });

  it('R9: acquire and heartbeat never wait for a row: what is locked is RETRY, and the others are answered', async () => {
    const [one, two] = [await leased(), await leased()];
    const [fresh] = await startRuns(fixture.store, 1);
    const holder = await fixture.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM baton.task_instances WHERE task_id = ANY ($1::uuid[]) FOR NO KEY UPDATE', [
      [one.run.task.taskId, fresh!.task.taskId],
    ]);
    const beats = [beat(one.run, one.leaseId), beat(two.run, two.leaseId)];
    expect(await fixture.store.heartbeat(beats)).toMatchObject([{ status: 'RETRY' }, { status: 'OK' }]);
    const calls = [acquireCall(fresh!), acquireCall(two.run)];
    expect(await fixture.store.acquire(calls)).toMatchObject([{ status: 'RETRY' }, { status: 'HELD' }]);
    await holder.query('ROLLBACK');
    expect(await fixture.store.acquire([acquireCall(fresh!)])).toMatchObject([{ status: 'GRANTED' }]);
  });

  it('R9: a batch of 64 acquires is one statement on task rows alone, beside a writer that holds all of their runs', async () => {
    const runs = await startRuns(fixture.store, 64);
    const answers = await fixture.store.withLockedRuns(runs.map(({ runId }) => refOf(runId)), () =>
      fixture.store.acquire(runs.map((run) => acquireCall(run))),
    ); // prettier-ignore
    expect(answers.filter(({ status }) => status === 'GRANTED')).toHaveLength(64);
  });

  it('R9: a heartbeat that commits while the write of the expiry waits for its row keeps the lease', async () => {
    const { run, leaseId } = await leased();
    await fixture.moveClock('31 seconds');
    const before = await runRow(run);
    const worker = await fixture.connect();
    await worker.query('BEGIN');
    await worker.query(RENEW, [run.task.taskId]);
    const ended = fixture.store.write({ batchId: randomUUID(), runs: [expiry(run, leaseId)] }).catch((e: unknown) => e);
    await waitingFor(fixture, 'task');
    await worker.query('COMMIT');
    expect(await ended).toBeInstanceOf(FenceMissError);
    expect(((await ended) as FenceMissError).runIds).toEqual([run.runId]);
    expect(await runRow(run)).toEqual(before);
    expect((await leaseOf(run.task.taskId)).lease_id).toBe(leaseId);
  });

  it('R9: the write of an expiry does not end the lease of a later holder, expired as it is', async () => {
    const { run, leaseId } = await leased();
    const wake = { kind: 'dispatch', deadlines: DEADLINES, lease: null } as const;
    const next = changedTask({ ...run.task, attempt: 2 }, { fence: { attempt: 1 }, wake });
    await fixture.store.write({ batchId: randomUUID(), runs: [runWrite(run.runId, 1, { tasks: [next] })] });
    await fixture.store.acquire([acquireCall({ ...run }, { attempt: 2 })]);
    await fixture.moveClock('31 seconds');
    const second = { runId: run.runId, task: { ...run.task, attempt: 2 } };
    const late = { ...expiry(second, leaseId), expectedVersion: 2 };
    await expect(fixture.store.write({ batchId: randomUUID(), runs: [late] })).rejects.toThrow(FenceMissError);
  });

  it('R9: a decision on a lease locks the run, then the task row, and sees the heartbeat that it waited for', async () => {
    const { runId, task, call, due } = await started();
    const { leaseId } = await engine.engine.acquire(call);
    await fixture.moveClock('31 seconds');
    const worker = await fixture.connect();
    const looker = await fixture.connect();
    await worker.query('BEGIN');
    await worker.query(RENEW, [task.taskId]);
    const fired = engine.engine.fireDue([due]);
    await waitingFor(fixture, 'task');
    expect(await isHeld(looker, 'workflow_runs', 'run_id = $1', [runId])).toBe(true);
    await worker.query('COMMIT');
    // Not expired: the wake-up is only armed again.
    expect(await fired).toMatchObject([{ outcome: 'IGNORED' }]);
    expect(await leaseOf(task.taskId)).toEqual({ attempt: 1, lease_id: leaseId, losses: 0 });
    const [row] = await fixture.query(
      'SELECT wake_at = lease_expires_at AS armed FROM baton.task_instances WHERE task_id = $1',
      [task.taskId],
    );
    expect(row).toEqual({ armed: true });
  });

  it('R9: between the facts of a lease and the write on them nobody renews it or takes it', async () => {
    const { run, leaseId } = await leased();
    await fixture.store.withLockedRuns([refOf(run.runId)], async (session) => {
      const needs = { leases: [run.task.taskId] };
      const facts = (await session.readNeeds([{ ...refOf(run.runId), needs }])).get(run.runId)?.leases;
      expect(facts?.get(run.task.taskId)).toMatchObject({ leaseId, leaseExpired: false });
      expect(await fixture.store.heartbeat([beat(run, leaseId)])).toEqual([{ status: 'RETRY' }]);
      expect(await fixture.store.acquire([acquireCall(run)])).toMatchObject([{ status: 'RETRY' }]);
    });
    expect(await fixture.store.heartbeat([beat(run, leaseId)])).toMatchObject([{ status: 'OK' }]);
  });

  it('R9: a cancel that waits for an acquire in flight sees its lease, and cuts the step off instead of closing it', async () => {
    const own = createPostgresStore({ url: fixture.url, poolSize: 2 });
    const { runId, task, call } = await started();
    const worker = await fixture.connect();
    await worker.query('BEGIN');
    await worker.query(
      `UPDATE baton.task_instances SET lease_id = $2, lease_owner = 'w', leased_at = baton.now(),
         lease_expires_at = baton.now() + interval '30 s' WHERE task_id = $1`,
      [task.taskId, randomUUID()],
    );
    const cancelled = engine.engine.cancel({ namespace: NAMESPACE, runId, requestId: 'stop', reason: 'asked' });
    await waitingFor(fixture, 'task');
    await worker.query('COMMIT');
    expect((await cancelled).status).toBe('COMPENSATING');
    const [row] = await fixture.query(
      'SELECT cut_off, lease_id IS NOT NULL AS leased FROM baton.task_instances WHERE task_id = $1',
      [task.taskId],
    );
    expect(row).toEqual({ cut_off: true, leased: true });
    expect(await own.acquire([call])).toMatchObject([{ status: 'STALE' }]);
    await own.close();
  });

  it("R9: a report's lease is compared with the row's, where the worker has one; without it the attempt decides", async () => {
    const { runId, task, call } = await started();
    const { leaseId } = await engine.engine.acquire(call);
    const before = await rowsOf(fixture, [runId]);
    const report = completedReport(runId, task);
    expect(await engine.engine.report({ ...report, leaseId: randomUUID() })).toBe('STALE');
    expect(await rowsOf(fixture, [runId])).toEqual(before);
    expect(await engine.engine.report({ ...report, leaseId: leaseId! })).toBe('APPLIED');
    const other = await started();
    await engine.engine.acquire(other.call);
    expect(await engine.engine.report(completedReport(other.runId, other.task))).toBe('APPLIED');
  });

  it('R9: a lease that another process granted, on a state that is cached here, is no lease of this cache', async () => {
    const { runId, task, call, due } = await started();
    const other = engineOn(fixture.url);
    try {
      // Cached here since the start: without any lease. The lease is granted, renewed and lost elsewhere.
      const { leaseId } = await other.engine.acquire(call);
      expect(await engine.engine.report({ ...completedReport(runId, task), leaseId: randomUUID() })).toBe('STALE');
      expect(await engine.engine.fireDue([due])).toMatchObject([{ outcome: 'IGNORED' }]);
      await fixture.moveClock('31 seconds');
      expect(await engine.engine.fireDue([due])).toMatchObject([{ outcome: 'APPLIED' }]);
      expect(await leaseOf(task.taskId)).toMatchObject({ attempt: 2, lease_id: null, losses: 1 });
      expect(await engine.engine.report({ ...completedReport(runId, task), leaseId: leaseId! })).toBe('STALE');
    } finally {
      await other.close();
    }
  });
});
