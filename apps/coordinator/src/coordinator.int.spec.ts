import { Metadata } from '@grpc/grpc-js';
import { runV1, workerV1 } from '@baton/contracts';
import { eventually } from '@baton/testkit';
import { bearer } from '@baton/wire';
import { v7 as uuidv7 } from 'uuid';
import { call, CoordinatorUnderTest, KEYS, refusal } from './testing/coordinator-under-test.js';

const { AcquireStatus, HeartbeatStatus, ReportOutcome } = workerV1;
const one = { id: 'one', version: 1, nodes: [{ id: 'a', type: 'task', queue: 'q' }] };
const two = {
  id: 'two',
  version: 1,
  input: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
  nodes: [
    { id: 'a', type: 'task', queue: 'q', input: { n: '${input.n}' }, compensate: { task: 'undo-a' } },
    { id: 'b', type: 'task', queue: 'q', after: ['a'] },
  ],
};

describe('the coordinator over gRPC', () => {
  let under: CoordinatorUnderTest;

  beforeAll(async () => {
    under = await CoordinatorUnderTest.start();
    await under.publish(one);
    await under.publish(two);
  });

  afterAll(async () => {
    expect(await under.stop()).toBe(true);
  });

  describe('lets in', () => {
    it('nobody without a key, and says no more than that', async () => {
      const noKey = refusal(call(under.runs, 'getRun', { runId: uuidv7(), includePayloads: false }, undefined));
      expect(await noKey).toMatchObject({ kind: 'unauthenticated', code: 'UNAUTHENTICATED' });
    });

    it('workers to tasks and clients to runs, not the other way round', async () => {
      const { taskId, runId } = await under.startedTask('one');
      expect(await refusal(under.startRun({ definitionId: 'one' }, 'worker'))).toMatchObject({ kind: 'forbidden' });
      const acquire = under.acquire({ taskId, runId, owner: 'w' }, 'client');
      expect(await refusal(acquire)).toMatchObject({ kind: 'forbidden', code: 'FORBIDDEN' });
    });

    it('an admin everywhere, but in its own namespace alone (I14)', async () => {
      const task = await under.startedTask('one');
      expect(await refusal(under.getRun(task.runId, 'stranger'))).toMatchObject({ kind: 'not-found' });
      const acquired = await under.acquire({ ...task, owner: 'w', attempt: 1 }, 'stranger');
      expect(acquired.status).not.toBe(AcquireStatus.ACQUIRE_STATUS_GRANTED);
      const reported = await under.report({ ...task, attempt: 1, status: 'completed' }, 'stranger');
      expect(reported).toMatchObject({ acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_NOT_FOUND });
      expect((await under.getRun(task.runId, 'admin')).run?.status).toBe(runV1.RunStatus.RUN_STATUS_RUNNING);
    });

    it('no worker stream without a key of the right role', async () => {
      for (const [key, code] of [
        [undefined, 16],
        [KEYS.client, 7],
      ] as const) {
        const metadata = new Metadata();
        if (key !== undefined) metadata.set('authorization', bearer(key));
        const stream = under.workers.session(metadata);
        const error = await new Promise<{ code?: number; metadata?: Metadata }>((resolve) =>
          stream.on('error', resolve),
        );
        expect(error.code).toBe(code);
        expect(error.metadata?.get('baton-code')).toHaveLength(1);
      }
    });

    it("Baton's own services on the internal port, where no other service is", async () => {
      const { taskId, runId } = await under.startedTask('one');
      const due = { namespace: 'default', runId, due: { $case: 'task', value: { taskId, attempt: 1 } } };
      const fired = await call<{ results: unknown[] }>(under.internal, 'fireDue', { items: [due] }, undefined);
      expect(fired.results).toHaveLength(1);
      const elsewhere = new runV1.RunServiceClient(
        `127.0.0.1:${under.service.ports['internal']}`,
        (await import('@grpc/grpc-js')).credentials.createInsecure(),
      );
      const refused = await refusal(call(elsewhere, 'getRun', { runId, includePayloads: false }, 'admin'));
      expect(refused.message).toMatch(/not implement/i);
      elsewhere.close();
    });
  });

  describe('answers the calls of a worker', () => {
    it('from the lease to the end of the run', async () => {
      const task = await under.startedTask('two', { n: 1 });
      const lease = await under.acquire({ ...task, owner: 'w1', attempt: 1, callId: 'c1', wantInput: true });
      expect(lease).toMatchObject({ status: AcquireStatus.ACQUIRE_STATUS_GRANTED, attempt: 1, input: '{"n":1}' });
      expect(Number(lease.ttlMs)).toBe(30_000);
      const again = await under.acquire({ ...task, owner: 'w1', attempt: 1, callId: 'c1' });
      expect(again).toMatchObject({ status: AcquireStatus.ACQUIRE_STATUS_GRANTED, leaseId: lease.leaseId });
      const other = await under.acquire({ ...task, owner: 'w2', attempt: 1, callId: 'c2' });
      expect(other.status).toBe(AcquireStatus.ACQUIRE_STATUS_HELD);
      const beat = await under.heartbeat({ ...task, attempt: 1, leaseId: lease.leaseId, progress: '{"page":3}' });
      expect(beat.status).toBe(HeartbeatStatus.HEARTBEAT_STATUS_OK);
      const output = Buffer.from('{"big":12345678901234567890, "a":[ ]}');
      const fields = { ...task, attempt: 1, leaseId: lease.leaseId, status: 'completed', output };
      expect(await under.report(fields)).toMatchObject({
        acknowledged: true,
        outcome: ReportOutcome.REPORT_OUTCOME_APPLIED,
        taskId: task.taskId,
      });
      expect((await under.report(fields)).outcome).toBe(ReportOutcome.REPORT_OUTCOME_DUPLICATE);
      expect((await under.report({ ...fields, output: Buffer.from('1') })).outcome).toBe(
        ReportOutcome.REPORT_OUTCOME_CONFLICT,
      );
      const run = await under.getRun(task.runId);
      expect(run.tasks.find((row) => row.nodeId === 'a')?.output).toBe(output.toString());
      expect(run.tasks.find((row) => row.nodeId === 'b')?.status).toBe(runV1.TaskStatus.TASK_STATUS_SCHEDULED);
    });

    it('of the first protocol: no attempt, no call id, ids in the metadata', async () => {
      const { taskId, runId, nodeId } = await under.startedTask('one');
      const lease = await under.acquire({ taskId, runId, owner: 'old', ttlSeconds: 10n });
      expect(lease).toMatchObject({ status: AcquireStatus.ACQUIRE_STATUS_GRANTED, attempt: 1, ttlMs: 10_000n });
      const reported = await under.report({
        taskId,
        status: 'completed',
        output: Buffer.from('"ok"'),
        metadata: { run_id: runId, node_id: nodeId },
      });
      expect(reported).toMatchObject({ acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_APPLIED });
      expect((await under.getRun(runId)).run?.status).toBe(runV1.RunStatus.RUN_STATUS_SUCCEEDED);
    });

    it('that name nothing with everything that is missing', async () => {
      const refused = await refusal(under.report({ status: 'done', attempt: -1 }));
      expect(refused).toMatchObject({ kind: 'invalid', code: 'INVALID_ARGUMENT' });
      expect(refused.details.map((detail) => detail.pointer)).toEqual([
        '/task_id',
        '/run_id',
        '/node_id',
        '/attempt',
        '/status',
      ]);
    });

    it('about a task that does not exist with an acknowledgement', async () => {
      const ids = { taskId: uuidv7(), runId: uuidv7(), nodeId: 'a' };
      expect(await under.report({ ...ids, attempt: 1, status: 'completed' })).toMatchObject({
        acknowledged: true,
        outcome: ReportOutcome.REPORT_OUTCOME_NOT_FOUND,
      });
      const acquired = await under.acquire({ ...ids, owner: 'w', attempt: 1 });
      expect(acquired.status).toBe(AcquireStatus.ACQUIRE_STATUS_NOT_YET);
    });

    it.each([
      ['is not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
      ['is not JSON', Buffer.from('{"a":')],
      ['has a NUL', Buffer.from('"a\\u0000b"')],
      ['has 2 MiB', Buffer.from(JSON.stringify('x'.repeat(2 * 1024 * 1024)))],
      ['has 5 MB', Buffer.from(JSON.stringify('x'.repeat(5_000_000)))],
      ['is nested 5,000 deep', Buffer.from('['.repeat(5_000) + ']'.repeat(5_000))],
    ])('whose output %s as REJECTED, and the attempt fails for good (R8, B67, B72, B73)', async (_what, output) => {
      const task = await under.startedTask('one');
      const lease = await under.acquire({ ...task, owner: 'w', attempt: 1 });
      const reported = await under.report({ ...task, attempt: 1, leaseId: lease.leaseId, status: 'completed', output });
      expect(reported).toMatchObject({ acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_REJECTED });
      const run = await under.getRun(task.runId);
      expect(run.run).toMatchObject({
        status: runV1.RunStatus.RUN_STATUS_FAILED,
        failure: { code: 'REPORT_REJECTED', nodeId: 'a' },
      });
    });

    it('in batches, each item in its place', async () => {
      const tasks = await Promise.all([under.startedTask('one'), under.startedTask('one')]);
      const items = tasks.map((task) =>
        workerV1.AcquireTaskLeaseRequest.fromPartial({ ...task, owner: 'w', attempt: 1 }),
      );
      const granted = await call<workerV1.AcquireTaskLeasesResponse>(
        under.workers,
        'acquireTaskLeases',
        { items },
        'worker',
      );
      expect(granted.items.map((item) => item.taskId)).toEqual(tasks.map((task) => task.taskId));
      const reports = tasks.map((task, index) =>
        workerV1.ReportTaskResultRequest.fromPartial({
          ...task,
          attempt: 1,
          leaseId: granted.items[index]?.leaseId ?? '',
          status: 'completed',
        }),
      );
      const answered = await call<workerV1.ReportTaskResultsResponse>(
        under.workers,
        'reportTaskResults',
        { items: [...reports, ...reports] },
        'worker',
      );
      expect(answered.items.map((item) => ReportOutcome[item.outcome])).toEqual([
        'REPORT_OUTCOME_APPLIED',
        'REPORT_OUTCOME_APPLIED',
        'REPORT_OUTCOME_DUPLICATE',
        'REPORT_OUTCOME_DUPLICATE',
      ]);
    });

    it('on one stream, with an error in the place of what cannot be answered', async () => {
      const task = await under.startedTask('one');
      const metadata = new Metadata();
      metadata.set('authorization', bearer(KEYS.worker));
      const stream = under.workers.session(metadata);
      const answers: workerV1.SessionAnswer[] = [];
      stream.on('data', (response: workerV1.SessionResponse) => answers.push(...response.answers));
      const acquire = (id: number, fields: Partial<workerV1.AcquireTaskLeaseRequest>): workerV1.SessionCall => ({
        id,
        call: { $case: 'acquire', value: workerV1.AcquireTaskLeaseRequest.fromPartial({ owner: 'w', ...fields }) },
      });
      stream.write({ calls: [acquire(7, { ...task, attempt: 1 }), acquire(8, { taskId: 'nope' })] });
      await eventually(() => answers.length === 2, { what: 'two answers' });
      const byId = new Map(answers.map((entry) => [entry.id, entry.answer]));
      expect(byId.get(7)).toMatchObject({ $case: 'acquire', value: { status: AcquireStatus.ACQUIRE_STATUS_GRANTED } });
      expect(byId.get(8)).toMatchObject({ $case: 'error', value: { code: 3, retryable: false } });
      const ended = new Promise((resolve) => stream.on('end', resolve));
      stream.end();
      await ended;
    });
  });

  describe('answers commands to runs', () => {
    it('with the places in an input that its schema refuses', async () => {
      const refused = await refusal(under.startRun({ definitionId: 'two', input: '{"n":"x"}' }));
      expect(refused).toMatchObject({ kind: 'invalid', details: [{ pointer: '/n' }] });
    });

    it.each([
      ['an unknown definition', { definitionId: 'nope' }, 'not-found'],
      ['a bad definition id', { definitionId: 'No.Dots' }, 'invalid'],
      ['a UUIDv4', { definitionId: 'one', runId: '7d1b5a9e-3c53-4b8a-9a2f-0c7c7a1b2c3d' }, 'invalid'],
      ['an input that is not JSON', { definitionId: 'one', input: '{' }, 'invalid'],
      ['a negative version', { definitionId: 'one', definitionVersion: -1 }, 'invalid'],
      ['an input of 5 MB', { definitionId: 'one', input: JSON.stringify('x'.repeat(5_000_000)) }, 'too-large'],
    ])('that name %s with a code', async (_what, fields, kind) => {
      const refused = await refusal(under.startRun(fields));
      expect(refused.kind).toBe(kind);
      expect(refused.code).toMatch(/^[A-Z0-9_]+$/);
    });

    it('once for one idempotency key', async () => {
      const fields = { definitionId: 'one', idempotencyKey: 'k1', input: '{"a":1}' };
      const first = await under.startRun(fields);
      expect(first.created).toBe(true);
      expect(await under.startRun(fields)).toMatchObject({ runId: first.runId, created: false });
      expect(await refusal(under.startRun({ ...fields, input: '{"a":2}' }))).toMatchObject({ kind: 'conflict' });
    });

    it('that wait for a result when it is there, and no longer than asked', async () => {
      const task = await under.startedTask('one');
      const waiting = call<runV1.GetRunResultResponse>(
        under.runs,
        'getRunResult',
        { runId: task.runId, waitMs: 20_000n },
        'client',
      );
      const short = await call<runV1.GetRunResultResponse>(
        under.runs,
        'getRunResult',
        { runId: task.runId, waitMs: 20n },
        'client',
      );
      expect(short).toMatchObject({ finished: false, run: { status: runV1.RunStatus.RUN_STATUS_RUNNING } });
      await under.report({ ...task, attempt: 1, status: 'completed', output: Buffer.from('1') });
      expect(await waiting).toMatchObject({ finished: true, run: { status: runV1.RunStatus.RUN_STATUS_SUCCEEDED } });
    });

    it('with lists in pages, newest first', async () => {
      const started = [];
      for (let i = 0; i < 3; i += 1)
        started.push((await under.startRun({ definitionId: 'one', businessKey: `page-${i}` })).runId);
      const list = (fields: object) =>
        call<runV1.ListRunsResponse>(under.runs, 'listRuns', runV1.ListRunsRequest.fromPartial(fields), 'client');
      const first = await list({ definitionId: 'one', pageSize: 2 });
      expect(first.runs.map((run) => run.runId)).toEqual(started.slice(1).reverse());
      const second = await list({ definitionId: 'one', pageSize: 2, cursor: first.nextCursor });
      expect(second.runs[0]?.runId).toBe(started[0]);
      expect(await refusal(list({ pageSize: 101 }))).toMatchObject({ kind: 'invalid' });
      expect(await refusal(list({ cursor: 'nonsense' }))).toMatchObject({ kind: 'invalid' });
    });

    it('with the journal in pages', async () => {
      const task = await under.startedTask('one');
      await under.report({ ...task, attempt: 1, status: 'completed' });
      const page = (afterSeq: bigint) =>
        call<runV1.GetHistoryResponse>(
          under.runs,
          'getHistory',
          { runId: task.runId, afterSeq, pageSize: 2 },
          'client',
        );
      const first = await page(0n);
      expect(first.entries.map((entry) => entry.kind)).toEqual(['run.started', 'task.scheduled']);
      const second = await page(first.nextAfterSeq);
      expect(second.entries.map((entry) => entry.kind)).toEqual(['node.succeeded', 'run.succeeded']);
      expect((await page(second.nextAfterSeq)).nextAfterSeq).toBe(0n);
    });

    it('that cancel, and the worker hears it', async () => {
      const task = await under.startedTask('two', { n: 1 });
      const lease = await under.acquire({ ...task, owner: 'w', attempt: 1 });
      const cancelled = await call<runV1.CancelRunResponse>(
        under.runs,
        'cancelRun',
        { runId: task.runId, reason: 'no longer wanted', requestId: 'c1' },
        'client',
      );
      expect(cancelled.status).toBe(runV1.RunStatus.RUN_STATUS_COMPENSATING);
      const beat = await under.heartbeat({ ...task, attempt: 1, leaseId: lease.leaseId });
      expect(beat.status).toBe(HeartbeatStatus.HEARTBEAT_STATUS_CANCELLED);
      const reported = await under.report({ ...task, attempt: 1, leaseId: lease.leaseId, status: 'completed' });
      expect(reported.outcome).toBe(ReportOutcome.REPORT_OUTCOME_APPLIED_CANCELLED);
    });
  });
});
