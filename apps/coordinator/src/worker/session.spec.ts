import { credentials, Metadata, Server, ServerCredentials, type ClientDuplexStream } from '@grpc/grpc-js';
import { workerV1 } from '@baton/contracts';
import { EngineError, type AcquireAnswer } from '@baton/engine';
import { WorkerSession, type SessionCallStream } from './session.js';
import { WorkerCalls } from './worker-calls.js';

type Stream = ClientDuplexStream<workerV1.SessionRequest, workerV1.SessionResponse>;
const taskId = '01920000-0000-7000-8000-000000000001';
const runId = '01920000-0000-7000-8000-000000000002';

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("a worker's stream", () => {
  let server: Server;
  let client: workerV1.WorkerServiceClient;
  let stream: Stream;
  let session: WorkerSession | undefined;
  let responses: workerV1.SessionResponse[];
  let isOver: () => boolean;
  const engine = {
    acquire: jest.fn<Promise<AcquireAnswer>, [unknown]>(),
    heartbeat: jest.fn(),
    report: jest.fn(),
  };

  const answers = () => responses.flatMap((response) => response.answers);
  const acquire = (id: number, fields = {}): workerV1.SessionCall => ({
    id,
    call: {
      $case: 'acquire',
      value: workerV1.AcquireTaskLeaseRequest.fromPartial({ taskId, runId, owner: 'w', ...fields }),
    },
  });

  beforeEach(async () => {
    engine.acquire.mockReset().mockResolvedValue({ status: 'GRANTED', leaseId: taskId, attempt: 1 });
    engine.report.mockReset().mockResolvedValue('APPLIED');
    const calls = new WorkerCalls(engine, () => 'made');
    server = new Server();
    const handler = (call: SessionCallStream) => {
      session = new WorkerSession(call, 'default', calls);
    };
    server.addService(workerV1.WorkerServiceService, { session: handler } as never);
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    client = new workerV1.WorkerServiceClient(`127.0.0.1:${port}`, credentials.createInsecure());
    stream = client.session(new Metadata());
    // Of this stream alone: the one of the last test may still be ending.
    const heard: workerV1.SessionResponse[] = [];
    let ended = false;
    responses = heard;
    isOver = () => ended;
    stream.on('data', (response: workerV1.SessionResponse) => heard.push(response));
    stream.on('end', () => {
      ended = true;
    });
    stream.on('error', () => undefined);
  });

  afterEach(() => {
    stream.cancel();
    client.close();
    server.forceShutdown();
  });

  it('sends all answers that are ready in one turn in one message', async () => {
    stream.write({ calls: Array.from({ length: 100 }, (_, id) => acquire(id)) });
    await until(() => answers().length === 100, 'all answers');
    expect(responses).toHaveLength(1);
    expect(engine.acquire).toHaveBeenCalledTimes(100);
    expect(answers()[7]).toMatchObject({ id: 7, answer: { $case: 'acquire', value: { taskId, leaseId: taskId } } });
  });

  it('answers in the order in which answers come, not in the order of the calls', async () => {
    const slow = Promise.withResolvers<AcquireAnswer>();
    engine.acquire.mockReturnValueOnce(slow.promise);
    stream.write({ calls: [acquire(1), acquire(2)] });
    await until(() => answers().length === 1, 'the second answer');
    expect(answers()[0]?.id).toBe(2);
    slow.resolve({ status: 'HELD' });
    await until(() => answers().length === 2, 'the first answer');
  });

  it('splits answers with large inputs over several messages', async () => {
    engine.acquire.mockResolvedValue({ status: 'GRANTED', input: JSON.stringify('x'.repeat(1_000_000)) });
    stream.write({ calls: Array.from({ length: 8 }, (_, id) => acquire(id)) });
    await until(() => answers().length === 8, 'all answers');
    expect(responses.length).toBeGreaterThanOrEqual(3);
  });

  it('tells what can be repeated from what cannot', async () => {
    engine.acquire.mockRejectedValueOnce(new EngineError('unavailable', 'DATABASE_AWAY', 'no connection'));
    engine.acquire.mockRejectedValueOnce(new Error('a bug'));
    stream.write({ calls: [acquire(1), acquire(2), acquire(3, { taskId: 'nope' }), { id: 4, call: undefined }] });
    await until(() => answers().length === 4, 'all answers');
    const byId = new Map(answers().map((answer) => [answer.id, answer.answer]));
    const error = (code: number, retryable: boolean) => ({ $case: 'error', value: { code, retryable } });
    expect(byId.get(1)).toMatchObject(error(14, true));
    expect(byId.get(2)).toMatchObject({ $case: 'error', value: { code: 13, message: 'INTERNAL: internal error' } });
    expect(byId.get(3)).toMatchObject(error(3, false));
    expect(byId.get(4)).toMatchObject(error(12, false));
  });

  it('acknowledges a report whose output is not UTF-8 as REJECTED, and fails the attempt for good (R8)', async () => {
    const report = workerV1.ReportTaskResultRequest.fromPartial({
      ...{ taskId, runId, nodeId: 'ship', attempt: 1, status: 'completed' },
      output: Uint8Array.of(0xff, 0xfe),
    });
    stream.write({ calls: [{ id: 1, call: { $case: 'report', value: report } }] });
    await until(() => answers().length === 1, 'the answer');
    const outcome = workerV1.ReportOutcome.REPORT_OUTCOME_REJECTED;
    expect(answers()[0]?.answer).toMatchObject({ $case: 'report', value: { acknowledged: true, outcome } });
    expect(engine.report).toHaveBeenCalledWith(
      expect.objectContaining({
        status: 'failed',
        retryable: false,
        failure: expect.objectContaining({ code: 'REPORT_REJECTED' }),
      }),
    );
  });

  it('says that it is going away, and ends when what it read is answered', async () => {
    const slow = Promise.withResolvers<AcquireAnswer>();
    engine.acquire.mockReturnValueOnce(slow.promise);
    stream.write({ calls: [acquire(1)] });
    await until(() => engine.acquire.mock.calls.length === 1, 'the call is in flight');
    session?.sayGoingAway();
    await until(() => responses.some((response) => response.goingAway), 'going away');
    stream.end();
    slow.resolve({ status: 'STALE' });
    await until(isOver, 'the end');
    expect(answers()).toHaveLength(1);
  });

  it('is over when the worker is gone, and drops what comes too late', async () => {
    const slow = Promise.withResolvers<AcquireAnswer>();
    engine.acquire.mockReturnValueOnce(slow.promise);
    stream.write({ calls: [acquire(1)] });
    await until(() => engine.acquire.mock.calls.length === 1, 'the call is in flight');
    stream.cancel();
    await session?.whenEnded;
    slow.resolve({ status: 'GRANTED' });
    await slow.promise;
  });
});
