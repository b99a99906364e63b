import { Metadata } from '@grpc/grpc-js';
import { runV1, workerV1 } from '@baton/contracts';
import { eventually } from '@baton/testkit';
import { bearer } from '@baton/wire';
import { call, CoordinatorUnderTest, KEYS } from './testing/coordinator-under-test.js';

const { ReportOutcome } = workerV1;

describe('a coordinator that is asked to stop', () => {
  it('sends workers away, answers what it has read, ends long polls with the run as it is, and then closes (B122)', async () => {
    const under = await CoordinatorUnderTest.start();
    await under.publish({ id: 'one', version: 1, nodes: [{ id: 'a', type: 'task', queue: 'q' }] } as never);
    const [task, other] = [await under.startedTask('one'), await under.startedTask('one')];
    const metadata = new Metadata();
    metadata.set('authorization', bearer(KEYS.worker));
    const stream = under.workers.session(metadata);
    const responses: workerV1.SessionResponse[] = [];
    stream.on('data', (response: workerV1.SessionResponse) => responses.push(response));
    const ended = new Promise((resolve) => stream.on('end', resolve));
    const request = { runId: other.runId, waitMs: 60_000n };
    const poll = call<runV1.GetRunResultResponse>(under.runs, 'getRunResult', request, 'client');
    const report = workerV1.ReportTaskResultRequest.fromPartial({ ...task, attempt: 1, status: 'completed' });
    stream.write({ calls: [{ id: 1, call: { $case: 'report', value: report } }] });
    await eventually(() => responses.length > 0, { what: 'the stream is in use' });

    const stopped = under.stop();
    await eventually(() => responses.some((response) => response.goingAway), { what: 'going away' });
    expect(await poll).toMatchObject({ finished: false, run: { status: runV1.RunStatus.RUN_STATUS_RUNNING } });
    // What a worker still had to say before it leaves is taken.
    const last = workerV1.ReportTaskResultRequest.fromPartial({ ...other, attempt: 1, status: 'completed' });
    stream.write({ calls: [{ id: 2, call: { $case: 'report', value: last } }] });
    stream.end();
    await ended;
    const answers = responses.flatMap((response) => response.answers);
    expect(answers.map((entry) => entry.id)).toEqual([1, 2]);
    expect(answers[1]?.answer).toMatchObject({
      $case: 'report',
      value: { acknowledged: true, outcome: ReportOutcome.REPORT_OUTCOME_APPLIED },
    });
    expect(await stopped).toBe(true);
  });

  it('does not wait for a worker that never leaves', async () => {
    const under = await CoordinatorUnderTest.start();
    const metadata = new Metadata();
    metadata.set('authorization', bearer(KEYS.worker));
    const stream = under.workers.session(metadata);
    const opened = new Promise((resolve) => stream.on('metadata', resolve));
    const ended = new Promise((resolve) => stream.on('end', resolve));
    stream.on('data', () => undefined);
    stream.on('error', () => undefined);
    await opened;
    expect(await under.stop()).toBe(true);
    await ended;
  });
});
