import { workerV1 } from '@baton/contracts';
import { eventually, startFaultProxy, type FaultProxy } from '@baton/testkit';
import { CoordinatorUnderTest, refusal } from './testing/coordinator-under-test.js';

const { AcquireStatus, HeartbeatStatus, ReportOutcome } = workerV1;

describe('a coordinator whose database is away', () => {
  let proxy: FaultProxy;
  let under: CoordinatorUnderTest;

  beforeAll(async () => {
    under = await CoordinatorUnderTest.start(async (url) => {
      const { hostname, port } = new URL(url);
      proxy = await startFaultProxy({ target: { host: hostname, port: Number(port) } });
      return proxy.url(url);
    });
    await under.publish({ id: 'one', version: 1, nodes: [{ id: 'a', type: 'task', queue: 'q' }] } as never);
  });

  afterAll(async () => {
    proxy.refuse(false);
    await under.stop();
    await proxy.close();
  });

  it('lets workers keep what they have, says why it is not ready, and goes on when it is back', async () => {
    const [first, second] = [await under.startedTask('one'), await under.startedTask('one')];
    const lease = await under.acquire({ ...first, owner: 'w', attempt: 1 });
    proxy.refuse(true);
    proxy.cut();
    const report = { ...first, attempt: 1, leaseId: lease.leaseId, status: 'completed', output: Buffer.from('1') };
    const acquired = await under.acquire({ ...second, owner: 'w', attempt: 1 });
    expect(acquired.status).toBe(AcquireStatus.ACQUIRE_STATUS_RETRY);
    const beat = await under.heartbeat({ ...first, attempt: 1, leaseId: lease.leaseId });
    expect(beat.status).toBe(HeartbeatStatus.HEARTBEAT_STATUS_RETRY);
    // After these two the pool has noticed: a report on a connection that just died is of unknown outcome, and the
    // engine looks for it for a while before it gives up (R6).
    expect(await refusal(under.report(report))).toMatchObject({ kind: 'unavailable' });
    expect(await refusal(under.startRun({ definitionId: 'one' }))).toMatchObject({ kind: 'unavailable' });
    const ready = await fetch(`http://127.0.0.1:${under.service.adminPort}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain('database does not answer');
    proxy.refuse(false);
    const outcome = await eventually(() => under.report(report).catch(() => undefined), {
      what: 'the report is taken',
    });
    expect(outcome).toMatchObject({ outcome: ReportOutcome.REPORT_OUTCOME_APPLIED });
  });
});
