import { randomUUID } from 'node:crypto';
import { runV1, workerV1 } from '@baton/contracts';
import { eventually, Platform } from '@baton/testkit';
import { Clients, refused } from '../src/index.js';

const { RunStatus, TaskStatus } = runV1;
const { AcquireStatus, HeartbeatStatus, ReportOutcome } = workerV1;

const twoSteps = JSON.stringify({
  id: 'two-steps',
  version: 1,
  nodes: [
    {
      id: 'first',
      type: 'task',
      queue: 'manual',
      retry: { maxAttempts: 3, initialInterval: 'PT0.05S', jitter: 0 },
      compensate: { task: 'undo-first' },
    },
    { id: 'second', type: 'task', queue: 'manual', after: ['first'], retry: { maxAttempts: 1 } },
  ],
});
const waiting = JSON.stringify({
  id: 'waiting',
  version: 1,
  nodes: [
    { id: 'prepare', type: 'task', queue: 'manual' },
    { id: 'waitA', type: 'wait', signal: 'a', after: ['prepare'] },
    { id: 'waitB', type: 'wait', signal: 'b', after: ['waitA'] },
  ],
});
const impatient = JSON.stringify({
  id: 'impatient',
  version: 1,
  nodes: [{ id: 'approval', type: 'wait', signal: 'approved', timeout: 'PT1S' }],
});

/** The test is the worker: it finds open tasks in the run's view, so no fleet and no Kafka consumer take part. */
describe('reports and signals against a running platform', () => {
  let platform: Platform;
  let clients: Clients;

  beforeAll(async () => {
    platform = await Platform.start({ workers: 0, gateway: false });
    clients = new Clients(platform.coordinatorUrls[0] as string, platform.registryUrl);
    for (const spec of [twoSteps, waiting, impatient]) await clients.publish(spec);
  }, 240_000);

  afterAll(async () => {
    clients?.close();
    await platform?.stop();
  }, 60_000);

  const start = async (definitionId: string): Promise<string> =>
    (await clients.start({ definitionId, input: '{}' })).runId;

  const openTask = async (runId: string, nodeId: string, kind = 'forward'): Promise<runV1.Task> =>
    eventually(
      async () => {
        const { tasks } = await clients.get(runId);
        const open = tasks.find(
          (task) =>
            task.nodeId === nodeId &&
            task.kind === kind &&
            [TaskStatus.TASK_STATUS_SCHEDULED, TaskStatus.TASK_STATUS_RUNNING].includes(task.status),
        );
        expect(open).toBeDefined();
        return open as runV1.Task;
      },
      { what: `${nodeId} (${kind}) of ${runId} is open` },
    );

  const lease = async (runId: string, task: runV1.Task): Promise<workerV1.AcquireTaskLeaseResponse> => {
    const answer = await clients.acquire({
      runId,
      taskId: task.taskId,
      attempt: task.attempt,
      owner: 'test',
      callId: randomUUID(),
    });
    expect(answer.status).toBe(AcquireStatus.ACQUIRE_STATUS_GRANTED);
    return answer;
  };

  const completed = (runId: string, task: runV1.Task, output: string): Partial<workerV1.ReportTaskResultRequest> => ({
    runId,
    taskId: task.taskId,
    nodeId: task.nodeId,
    attempt: task.attempt,
    status: 'completed',
    output: Buffer.from(output),
  });

  const snapshot = async (runId: string): Promise<string> => {
    const rows = await platform.sql(async (client) => [
      (await client.query('SELECT * FROM baton.workflow_runs WHERE run_id = $1', [runId])).rows,
      (await client.query('SELECT * FROM baton.task_instances WHERE run_id = $1 ORDER BY task_id', [runId])).rows,
      (await client.query('SELECT count(*) FROM baton.run_journal WHERE run_id = $1', [runId])).rows,
      (await client.query('SELECT count(*) FROM baton.outbox WHERE run_id = $1', [runId])).rows,
    ]);
    return JSON.stringify(rows);
  };

  it('B21: the same report again is DUPLICATE, another content is CONFLICT, and nothing changes', async () => {
    const runId = await start('two-steps');
    const task = await openTask(runId, 'first');
    await lease(runId, task);
    const report = completed(runId, task, '{"n":9007199254740993}');
    expect(await clients.report(report)).toMatchObject({
      acknowledged: true,
      outcome: ReportOutcome.REPORT_OUTCOME_APPLIED,
    });
    await openTask(runId, 'second');
    const before = await snapshot(runId);

    expect((await clients.report(report)).outcome).toBe(ReportOutcome.REPORT_OUTCOME_DUPLICATE);
    expect((await clients.report(completed(runId, task, '{"n":1}'))).outcome).toBe(
      ReportOutcome.REPORT_OUTCOME_CONFLICT,
    );
    const failed = await clients.report({ ...report, status: 'failed', output: Buffer.alloc(0), error: 'late' });
    expect(failed).toMatchObject({ acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_CONFLICT });
    expect(await snapshot(runId)).toBe(before);
    const stored = (await clients.get(runId)).tasks.find((row) => row.nodeId === 'first');
    expect(stored?.output).toBe('{"n":9007199254740993}');
  });

  it('B20: a report of an older attempt is STALE and the current attempt goes on', async () => {
    const runId = await start('two-steps');
    const first = await openTask(runId, 'first');
    await lease(runId, first);
    await clients.report({
      ...completed(runId, first, ''),
      status: 'failed',
      output: Buffer.alloc(0),
      error: 'try again',
    });
    const second = await eventually(async () => {
      const task = await openTask(runId, 'first');
      expect(task.attempt).toBe(2);
      return task;
    });
    const before = await snapshot(runId);
    expect((await clients.report(completed(runId, first, '{"v":1}'))).outcome).toBe(ReportOutcome.REPORT_OUTCOME_STALE);
    expect(await snapshot(runId)).toBe(before);
    const late = await clients.acquire({ runId, taskId: first.taskId, attempt: 1, owner: 'zombie', callId: 'late' });
    expect(late.status).toBe(AcquireStatus.ACQUIRE_STATUS_STALE);
    await lease(runId, second);
    expect((await clients.report(completed(runId, second, '{"v":2}'))).outcome).toBe(
      ReportOutcome.REPORT_OUTCOME_APPLIED,
    );
  });

  it('an unknown task or run is NOT_FOUND, acknowledged', async () => {
    const runId = await start('two-steps');
    const task = await openTask(runId, 'first');
    const unknownTask = await clients.report({ ...completed(runId, task, '1'), taskId: randomUUID() });
    expect(unknownTask).toMatchObject({ acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_NOT_FOUND });
    const unknownRun = await clients.report({
      ...completed(runId, task, '1'),
      runId: '0193a8f0-0000-7000-8000-000000000000',
    });
    expect(unknownRun).toMatchObject({ acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_NOT_FOUND });
  });

  it('B24: a failure reported after a cancel leads to no second attempt', async () => {
    const runId = await start('two-steps');
    const task = await openTask(runId, 'first');
    const { leaseId } = await lease(runId, task);
    await clients.cancel(runId, 'cancel-1');
    const beat = await clients.heartbeat({ runId, taskId: task.taskId, attempt: 1, leaseId });
    expect(beat.status).toBe(HeartbeatStatus.HEARTBEAT_STATUS_CANCELLED);
    const late = await clients.report({
      ...completed(runId, task, ''),
      status: 'failed',
      output: Buffer.alloc(0),
      error: 'no',
    });
    expect(late).toMatchObject({ acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_APPLIED_CANCELLED });
    await eventually(async () => {
      const view = await clients.get(runId);
      expect(view.run?.status).toBe(RunStatus.RUN_STATUS_CANCELLED);
      // Beside it stands the row of its undo, which the definite failure has dropped.
      const forward = view.tasks.filter((row) => row.nodeId === 'first' && row.kind === 'forward');
      expect(forward.map((row) => row.attempt)).toEqual([1]);
      return true;
    });
  });

  it('after the end of the run every report is acknowledged and changes nothing (B34, B85)', async () => {
    const runId = await start('two-steps');
    const first = await openTask(runId, 'first');
    await lease(runId, first);
    await clients.report(completed(runId, first, '1'));
    const second = await openTask(runId, 'second');
    await lease(runId, second);
    await clients.report(completed(runId, second, '2'));
    expect((await clients.result(runId, 5_000)).run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
    const before = await snapshot(runId);
    for (const task of [first, second]) {
      expect((await clients.report(completed(runId, task, '3'))).outcome).toBe(ReportOutcome.REPORT_OUTCOME_CONFLICT);
    }
    expect(await refused(clients.cancel(runId, 'too-late'))).toMatchObject({ grpcCode: 9, code: 'RUN_TERMINAL' });
    expect(await refused(clients.retry({ runId, requestId: 'r' }))).toMatchObject({
      grpcCode: 9,
      code: 'NOT_RETRYABLE',
    });
    expect(await snapshot(runId)).toBe(before);
  });

  it('B82: after a retry of the run, reports of the earlier epoch are STALE and attempts have gone on rising', async () => {
    const runId = await start('two-steps');
    const first = await openTask(runId, 'first');
    await lease(runId, first);
    await clients.report({
      ...completed(runId, first, ''),
      status: 'failed',
      output: Buffer.alloc(0),
      error: 'no',
      nonRetryable: true,
    });
    expect((await clients.result(runId, 5_000)).run?.status).toBe(RunStatus.RUN_STATUS_FAILED);
    expect(await clients.retry({ runId, requestId: 'retry-1' })).toMatchObject({ epoch: 2, duplicate: false });
    expect(await clients.retry({ runId, requestId: 'retry-1' })).toMatchObject({ duplicate: true });
    const again = await openTask(runId, 'first');
    expect(again).toMatchObject({ generation: 2, attempt: 2 });
    const old = await clients.report(completed(runId, first, '1'));
    expect(old.acknowledged).toBe(true);
    expect([ReportOutcome.REPORT_OUTCOME_STALE, ReportOutcome.REPORT_OUTCOME_CONFLICT]).toContain(old.outcome);
    await lease(runId, again);
    expect((await clients.report(completed(runId, again, '1'))).outcome).toBe(ReportOutcome.REPORT_OUTCOME_APPLIED);
  });

  it('B47: signals that come before their waits are kept and taken in order', async () => {
    const runId = await start('waiting');
    expect(await clients.signal({ runId, name: 'b', payload: '{"b":1}', signalId: 's-b' })).toMatchObject({
      delivered: false,
    });
    expect(await clients.signal({ runId, name: 'a', payload: '{"a":1}', signalId: 's-a' })).toMatchObject({
      delivered: false,
    });
    const prepare = await openTask(runId, 'prepare');
    await lease(runId, prepare);
    await clients.report(completed(runId, prepare, 'null'));
    expect((await clients.result(runId, 5_000)).run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
    const view = await clients.get(runId);
    expect(view.tasks.find((task) => task.nodeId === 'waitB')?.output).toBe('{"b":1}');
    expect(view.bufferedSignals).toEqual([]);
  });

  it('B50: a signal sent twice is delivered once, and another body under its id is refused', async () => {
    const runId = await start('waiting');
    await clients.signal({ runId, name: 'b', payload: '1', signalId: 'evt-1' });
    expect(await clients.signal({ runId, name: 'b', payload: '1', signalId: 'evt-1' })).toMatchObject({
      duplicate: true,
    });
    const other = await refused(clients.signal({ runId, name: 'b', payload: '2', signalId: 'evt-1' }));
    expect(other.code).toBe('SIGNAL_CONFLICT');
    expect((await clients.get(runId)).bufferedSignals).toHaveLength(1);
  });

  it('B52: signal and timeout: exactly one wins, and the loser leaves nothing behind', async () => {
    const runs = await Promise.all(Array.from({ length: 20 }, () => start('impatient')));
    const startedAt = Date.now();
    const outcomes = await Promise.all(
      runs.map(async (runId, index) => {
        await eventually(() => Date.now() >= startedAt + 900 + index * 10, { what: 'the timeout is near' });
        return clients.signal({ runId, name: 'approved', payload: 'true', signalId: 's' }).then(
          (answer) => answer.delivered,
          () => false,
        );
      }),
    );
    for (const [index, runId] of runs.entries()) {
      const { run } = await clients.result(runId, 10_000);
      expect(run?.status).toBe(outcomes[index] === true ? RunStatus.RUN_STATUS_SUCCEEDED : RunStatus.RUN_STATUS_FAILED);
    }
    const { rows } = await platform.sql((client) =>
      client.query('SELECT count(*)::int AS timers FROM baton.timers WHERE run_id = ANY($1)', [runs]),
    );
    expect(rows).toEqual([{ timers: 0 }]);
  });

  it('R32: a signal to an ended run is refused, a known one is a duplicate (B50)', async () => {
    const runId = await start('impatient');
    await clients.signal({ runId, name: 'approved', payload: 'true', signalId: 'known' });
    expect((await clients.result(runId, 5_000)).run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
    expect(await clients.signal({ runId, name: 'approved', payload: 'true', signalId: 'known' })).toMatchObject({
      duplicate: true,
    });
    expect(await refused(clients.signal({ runId, name: 'approved', payload: 'true', signalId: 'new' }))).toMatchObject({
      grpcCode: 9,
      code: 'RUN_TERMINAL',
    });
  });

  it('undo that fails for good ends COMPENSATION_FAILED, and retryCompensation repeats only that undo (B42)', async () => {
    const runId = await start('two-steps');
    const first = await openTask(runId, 'first');
    await lease(runId, first);
    await clients.report(completed(runId, first, '{"id":7}'));
    const second = await openTask(runId, 'second');
    await lease(runId, second);
    await clients.report({ ...completed(runId, second, ''), status: 'failed', output: Buffer.alloc(0), error: 'no' });
    const undo = await openTask(runId, 'first', 'compensate');
    expect(undo.input).toBe('{"input":{},"output":{"id":7}}');
    await lease(runId, undo);
    await clients.report({
      ...completed(runId, undo, ''),
      status: 'failed',
      output: Buffer.alloc(0),
      error: 'no',
      nonRetryable: true,
    });
    const { run } = await clients.result(runId, 5_000);
    expect(run).toMatchObject({ status: RunStatus.RUN_STATUS_COMPENSATION_FAILED, compensation: 'FAILED' });
    await clients.retryCompensation(runId, 'again');
    const again = await openTask(runId, 'first', 'compensate');
    expect(again.generation).toBe(undo.generation);
    expect(again.attempt).toBeGreaterThan(undo.attempt);
    await lease(runId, again);
    await clients.report(completed(runId, again, 'null'));
    expect((await clients.result(runId, 5_000)).run?.status).toBe(RunStatus.RUN_STATUS_COMPENSATED);
  });
});
