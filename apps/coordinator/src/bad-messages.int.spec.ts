import { internalV1, runV1, workerV1 } from '@baton/contracts';
import { v7 as uuidv7 } from 'uuid';
import { call, CoordinatorUnderTest, refusal } from './testing/coordinator-under-test.js';

const { AcquireStatus, ReportOutcome } = workerV1;
const MAX_INT64 = 9_223_372_036_854_775_807n;
const task = { id: 'a', type: 'task', queue: 'q' };

/** Numbers at the ends of their ranges, and messages that lack what they need, over gRPC. */
describe('messages at the edge of what they may be', () => {
  let under: CoordinatorUnderTest;

  beforeAll(async () => {
    under = await CoordinatorUnderTest.start();
    await under.publish({ id: 'one', version: 1, nodes: [task] } as never);
    await under.publish({ id: 'waiting', version: 1, nodes: [{ id: 'w', type: 'wait', signal: 'paid' }] } as never);
  });

  afterAll(async () => {
    expect(await under.stop()).toBe(true);
  });

  const runs = <Response>(method: string, request: object): Promise<Response> =>
    call<Response>(under.runs, method, request, 'client');

  const signal = (runId: string, fields: Partial<runV1.SignalRunRequest>) =>
    runs<runV1.SignalRunResponse>('signalRun', runV1.SignalRunRequest.fromPartial({ runId, name: 'paid', ...fields }));

  async function leased() {
    const named = await under.startedTask('one');
    const lease = await under.acquire({ ...named, owner: 'w', attempt: 1 });
    return { ...named, attempt: 1, leaseId: lease.leaseId };
  }

  it('B43: a report that says nothing is refused, and its attempt stays open until it says something', async () => {
    const attempt = await leased();
    const refused = await refusal(under.report(attempt));
    expect(refused).toMatchObject({ kind: 'invalid', details: [{ pointer: '/status', code: 'UNKNOWN_STATUS' }] });
    const [row] = (await under.getRun(attempt.runId)).tasks;
    expect(row).toMatchObject({ status: runV1.TaskStatus.TASK_STATUS_RUNNING, attempt: 1, failures: 0 });
    const definite = {
      ...attempt,
      status: 'failed',
      errorCode: 'OUT_OF_STOCK',
      error: 'none left',
      nonRetryable: true,
    };
    expect((await under.report(definite)).outcome).toBe(ReportOutcome.REPORT_OUTCOME_APPLIED);
    expect((await under.getRun(attempt.runId)).run).toMatchObject({
      status: runV1.RunStatus.RUN_STATUS_FAILED,
      failure: { code: 'OUT_OF_STOCK', message: 'none left' },
    });
  });

  it('B111: int64 fields beyond what a number holds are refused by name, never rounded', async () => {
    const attempt = await leased();
    const pointersOf = async (refused: Promise<unknown>) =>
      (await refusal(refused)).details.map(({ pointer, code }) => `${pointer} ${code}`);
    expect(await pointersOf(under.acquire({ ...attempt, owner: 'w', ttlSeconds: MAX_INT64 }))).toEqual([
      '/ttl_seconds TOO_LARGE',
    ]);
    expect(await pointersOf(under.heartbeat({ ...attempt, ttlSeconds: -1n }))).toEqual(['/ttl_seconds NEGATIVE']);
    const deferred = { ...attempt, status: 'deferred', retryAfterMs: 9_007_199_254_740_993n };
    expect(await pointersOf(under.report(deferred))).toEqual(['/retry_after_ms TOO_LARGE']);
    expect(await pointersOf(under.startRun({ definitionId: 'one', startedAtUnixMs: MAX_INT64 }))).toEqual([
      '/started_at_unix_ms TOO_LARGE',
    ]);
    expect(await pointersOf(signal(attempt.runId, { payload: '1', expiresInMs: MAX_INT64 }))).toEqual([
      '/expires_in_ms TOO_LARGE',
    ]);
    const poll = { runId: attempt.runId, waitMs: MAX_INT64 };
    expect(await pointersOf(runs('getRunResult', poll))).toEqual(['/wait_ms TOO_LARGE']);
  });

  it.each([
    ['in 31 days', 2_678_400_000n],
    ['in 200,000 years', 6_311_520_000_000_000n],
    ['as late as a number can say', BigInt(Number.MAX_SAFE_INTEGER)],
  ])('B29, B111: a worker that asks for a later try %s gets it then, and not at once', async (_when, retryAfterMs) => {
    const attempt = await leased();
    const reported = await under.report({ ...attempt, status: 'deferred', retryAfterMs });
    expect(reported.outcome).toBe(ReportOutcome.REPORT_OUTCOME_APPLIED);
    const [row] = (await under.getRun(attempt.runId)).tasks;
    expect(row?.status).toBe(runV1.TaskStatus.TASK_STATUS_BACKOFF);
    const due = { namespace: 'default', runId: attempt.runId, due: { $case: 'task', value: attempt } };
    const fired = await call<internalV1.FireDueResponse>(under.internal, 'fireDue', { items: [due] }, undefined);
    expect(fired.results[0]?.outcome).toBe(internalV1.FireOutcome.FIRE_OUTCOME_IGNORED);
  });

  it('B111: what an enum, a list and a flag have by default is what it is: unspecified, [] and false', async () => {
    const list = runV1.ListRunsRequest.fromPartial({ statuses: [runV1.RunStatus.RUN_STATUS_UNSPECIFIED] });
    expect(await refusal(runs('listRuns', list))).toMatchObject({
      kind: 'invalid',
      details: [{ pointer: '/statuses/0', code: 'UNKNOWN_STATUS' }],
    });
    const { runId } = await under.startRun({ definitionId: 'waiting' });
    const view = await under.getRun(runId);
    expect(view.bufferedSignals).toEqual([]);
    expect(view.tasks[0]).toMatchObject({ unknownOutcome: false, item: 0, attempt: 0 });
    expect(view.tasks[0]?.status).not.toBe(runV1.TaskStatus.TASK_STATUS_UNSPECIFIED);
    const empty = runV1.ListRunsRequest.fromPartial({ definitionId: 'nothing-runs-here' });
    expect((await runs<runV1.ListRunsResponse>('listRuns', empty)).runs).toEqual([]);
  });

  it('B111: the highest attempt that there can be is told from the current one; one more is refused', async () => {
    const { taskId, runId, nodeId } = await leased();
    const report = { taskId, runId, nodeId, status: 'completed' };
    expect((await under.report({ ...report, attempt: 2_147_483_647 })).outcome).toBe(
      ReportOutcome.REPORT_OUTCOME_STALE,
    );
    // 2147483648 on the wire of an int32 field.
    expect(await refusal(under.report({ ...report, attempt: -2_147_483_648 }))).toMatchObject({ kind: 'invalid' });
    const future = await under.acquire({ taskId, runId, owner: 'w', callId: 'c', attempt: 2_147_483_647 });
    expect(future.status).toBe(AcquireStatus.ACQUIRE_STATUS_NOT_YET);
  });

  it.each([
    ['no JSON', '{"amount":', 'PAYLOAD_NOT_JSON'],
    ['a NUL', '"\\u0000"', 'PAYLOAD_NUL'],
    ['a lone surrogate', '"\\ud800"', 'PAYLOAD_SURROGATE'],
    ['101 levels', '['.repeat(101) + ']'.repeat(101), 'PAYLOAD_TOO_DEEP'],
    ['1 MiB and a byte', JSON.stringify('x'.repeat(1_048_575)), 'PAYLOAD_TOO_LARGE'],
  ])('B54, B67, B72, B73: a signal of %s is refused aloud, and the wait stays open', async (_what, payload, code) => {
    const { runId } = await under.startRun({ definitionId: 'waiting' });
    expect(await refusal(signal(runId, { payload, signalId: 's1' }))).toMatchObject({ code });
    expect((await under.getRun(runId)).tasks[0]?.status).toBe(runV1.TaskStatus.TASK_STATUS_WAITING);
    expect(await signal(runId, { payload: '{"amount":12}', signalId: 's1' })).toMatchObject({ delivered: true });
    expect((await under.getRun(runId)).tasks[0]?.output).toBe('{"amount":12}');
  });

  it('B123: measures many runs, keys and errors with the series that it has for a few', async () => {
    const round = async (count: number): Promise<number> => {
      for (let n = 0; n < count; n += 1) {
        const attempt = { ...(await under.startedTask('one')), attempt: 1 };
        const error = { status: 'failed', errorCode: `CODE_${uuidv7()}`, error: `error ${n}`, nonRetryable: true };
        await under.report({ ...attempt, ...(n % 2 === 0 ? error : { status: 'completed' }) });
        await under.startRun({ definitionId: 'waiting', idempotencyKey: uuidv7(), businessKey: uuidv7() });
        await refusal(under.startRun({ definitionId: `unknown-${n}` }));
      }
      const text = await (await fetch(`http://127.0.0.1:${under.service.adminPort}/metrics`)).text();
      expect(text).not.toMatch(/CODE_|error \d|unknown-\d|[0-9a-f]{8}-[0-9a-f]{4}-7/);
      return text.split('\n').filter((line) => /^baton_/.test(line)).length;
    };
    const few = await round(6);
    expect(await round(60)).toBe(few);
  });
});
