import { workerV1 } from '@baton/contracts';
import { silentLogger } from '../logger.js';
import { FakeCoordinator, grantEverything, notNow, until } from '../testing/fake-coordinator.js';
import { SessionClient, type SessionClientOptions } from './session-client.js';

const acquireOf = (taskId: string) =>
  workerV1.AcquireTaskLeaseRequest.fromPartial({ taskId, callId: `call-${taskId}` });
const acquire = async (session: SessionClient, taskId: string) => (await session.acquire(acquireOf(taskId))).response;
const report = (taskId: string) => workerV1.ReportTaskResultRequest.fromPartial({ taskId, status: 'completed' });
const heartbeat = (taskId: string) => workerV1.HeartbeatRequest.fromPartial({ taskId });
const { AcquireStatus, HeartbeatStatus } = workerV1;

describe('the session with a coordinator', () => {
  const coordinators: FakeCoordinator[] = [];
  const clients: SessionClient[] = [];

  async function coordinator(port = 0): Promise<FakeCoordinator> {
    const fake = new FakeCoordinator();
    coordinators.push(fake);
    await fake.listen(port);
    return fake;
  }

  function client(addresses: string[], options: Partial<SessionClientOptions> = {}): SessionClient {
    const session = new SessionClient({ coordinators: addresses, logger: silentLogger, ...options });
    clients.push(session);
    return session;
  }

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((session) => session.close(0)));
    for (const fake of coordinators.splice(0)) fake.crash();
  });

  it('carries all calls of one turn of the event loop in one message, over one stream', async () => {
    const fake = await coordinator();
    const session = client([fake.address], { apiKey: 'bk_w_secret' });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => acquire(session, `${i}`)));
    expect(answers.map((answer) => answer.taskId)).toEqual(Array.from({ length: 50 }, (_, i) => `${i}`));
    expect(fake.messages).toHaveLength(1);
    expect(fake.keys).toEqual(['Bearer bk_w_secret']);
    expect(session.isConnected).toBe(true);
  });

  it('splits what is too large for one message', async () => {
    const fake = await coordinator();
    const session = client([fake.address]);
    const output = new Uint8Array(1_000_000);
    await Promise.all(Array.from({ length: 9 }, (_, i) => session.report({ ...report(`${i}`), output })));
    expect(fake.messages.length).toBeGreaterThanOrEqual(4);
    expect(fake.heard).toHaveLength(9);
  });

  it('sends calls in flight on a broken stream again: the same acquire, the same report, but no old heartbeat (R10, R14)', async () => {
    const first = await coordinator();
    const second = await coordinator();
    first.answer = () => 'nothing';
    second.answer = () => 'nothing';
    const session = client([first.address, second.address]);
    const pending = [acquire(session, 'a'), session.report(report('r')), session.heartbeat(heartbeat('h'))];
    await until(() => first.heard.length + second.heard.length === 3, 'calls are in flight');
    const [broken, other] = first.heard.length === 3 ? [first, second] : [second, first];
    other.answer = grantEverything;
    broken.crash();
    const [granted, reported, beat] = await Promise.all(pending);
    expect(granted).toMatchObject({ status: AcquireStatus.ACQUIRE_STATUS_GRANTED });
    expect(reported).toMatchObject({ acknowledged: true });
    expect(beat).toMatchObject({ status: HeartbeatStatus.HEARTBEAT_STATUS_RETRY });
    expect(other.heard.map((call) => call.$case)).toEqual(['acquire', 'report']);
    expect(other.heard[0]).toEqual(broken.heard[0]);
  });

  it('waits for a coordinator that is not there yet', async () => {
    const fake = await coordinator();
    const { port } = fake;
    fake.crash();
    const session = client([`127.0.0.1:${port}`]);
    const answer = session.report(report('r'));
    const later = await coordinator(port);
    await expect(answer).resolves.toMatchObject({ acknowledged: true });
    expect(later.heard).toHaveLength(1);
  });

  it('moves new calls to another coordinator when one is going away, and finishes there what it asked', async () => {
    const first = await coordinator();
    const second = await coordinator();
    const session = client([first.address, second.address]);
    await acquire(session, 'warm');
    const [leaving, other] = first.heard.length > 0 ? [first, second] : [second, first];
    leaving.answer = () => 'nothing';
    const slow = session.report(report('slow'));
    await until(() => leaving.heard.length === 2, 'the report is in flight');
    leaving.sayGoingAway();
    await until(() => !session.isConnected, 'the client has heard it');
    await acquire(session, 'next');
    expect(other.heard.map((call) => call.$case)).toEqual(['acquire']);
    const release = () => {
      const id = leaving.messages[1]?.calls[0]?.id ?? 0;
      const answer = grantEverything({ $case: 'report', value: report('slow') });
      for (const stream of leaving.streams) stream.write({ answers: [{ id, answer }], goingAway: false });
    };
    release();
    await expect(slow).resolves.toMatchObject({ acknowledged: true });
    await until(() => leaving.streams.size === 0, 'the old stream is ended');
    expect(other.heard).toHaveLength(1);
  });

  it('repeats a report until it is acknowledged; acquires and heartbeats hear "not now" (R10, R14)', async () => {
    const fake = await coordinator();
    let refusals = 0;
    fake.answer = (call) => {
      if (call.$case !== 'report') return notNow;
      refusals += 1;
      if (refusals < 3) return notNow;
      const answer = grantEverything(call);
      if (refusals === 3 && answer.$case === 'report')
        return { ...answer, value: { ...answer.value, acknowledged: false } };
      return answer;
    };
    const session = client([fake.address]);
    await expect(acquire(session, 'a')).resolves.toMatchObject({ status: AcquireStatus.ACQUIRE_STATUS_RETRY });
    await expect(session.heartbeat(heartbeat('h'))).resolves.toMatchObject({
      status: HeartbeatStatus.HEARTBEAT_STATUS_RETRY,
    });
    await expect(session.report(report('r'))).resolves.toMatchObject({ acknowledged: true });
    expect(refusals).toBe(4);
  });

  it('does not repeat what can never be answered', async () => {
    const fake = await coordinator();
    fake.answer = () => ({ $case: 'error', value: { code: 3, message: 'task_id is required', retryable: false } });
    const session = client([fake.address]);
    await expect(session.report(report(''))).rejects.toMatchObject({ kind: 'invalid', message: 'task_id is required' });
    expect(fake.heard).toHaveLength(1);
  });

  it.each([
    ['does not answer a call', { answerTimeoutMs: 300 }],
    ['says nothing at all', { silenceTimeoutMs: 300 }],
  ])('gives up a stream whose coordinator %s', async (_how, limit) => {
    const first = await coordinator();
    const second = await coordinator();
    first.answer = () => 'nothing';
    second.answer = () => 'nothing';
    const session = client([first.address, second.address], limit);
    const answer = session.report(report('r'));
    await until(() => first.heard.length + second.heard.length === 1, 'the report is in flight');
    (first.heard.length === 1 ? second : first).answer = grantEverything;
    await expect(answer).resolves.toMatchObject({ acknowledged: true });
  });

  it('keeps a stream whose coordinator is late with one answer and goes on with others', async () => {
    const fake = await coordinator();
    fake.answer = (call) => (call.$case === 'report' ? 'nothing' : grantEverything(call));
    const session = client([fake.address], { silenceTimeoutMs: 300 });
    session.report(report('r')).catch(() => undefined);
    // Longer than two looks at what is silent.
    const from = performance.now();
    while (performance.now() - from < 2_200) await session.heartbeat(heartbeat('h'));
    expect(fake.heard.filter((call) => call.$case === 'report')).toHaveLength(1);
  });

  it('says loudly that its key is refused, and goes on trying', async () => {
    const fake = await coordinator();
    fake.refuseStreams = { code: 16, details: 'the credential is not valid' };
    const errors: unknown[] = [];
    const logger = { ...silentLogger, error: (fields: unknown) => errors.push(fields) };
    const session = client([fake.address], { logger });
    const answer = session.report(report('r'));
    await until(() => errors.length > 0, 'the refusal is logged');
    expect(errors[0]).toMatchObject({ code: 16 });
    fake.refuseStreams = undefined;
    await expect(answer).resolves.toMatchObject({ acknowledged: true });
  });

  it('closes when what is in flight is answered, and refuses calls after', async () => {
    const fake = await coordinator();
    const session = client([fake.address]);
    const answer = session.report(report('r'));
    await session.close(5_000);
    await expect(answer).resolves.toMatchObject({ acknowledged: true });
    await expect(session.report(report('late'))).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });

  it('closes in time when nobody answers', async () => {
    const fake = await coordinator();
    fake.answer = () => 'nothing';
    const session = client([fake.address]);
    const answer = session.report(report('r'));
    const refused = expect(answer).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    await session.close(100);
    await refused;
  });
});
