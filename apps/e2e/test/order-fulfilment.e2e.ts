import { examine } from '@baton/doctor';
import { Platform } from '@baton/testkit';
import { demoRuns, readTopic, Rest, type PublishedEvent } from '../src/index.js';

interface LedgerRow {
  readonly node: string;
  readonly kind: string;
  readonly attempt: number;
  readonly event: string;
}

describe('order fulfilment on a platform of real parts', () => {
  let platform: Platform;
  let rest: Rest;
  const runIds = new Map<string, string>();

  beforeAll(async () => {
    platform = await Platform.start({ ledger: true });
    rest = new Rest(platform.gatewayUrl);
    await rest.publishExample();
    for (const run of demoRuns()) runIds.set(run.name, await rest.startOrder(run.input));
  }, 240_000);

  afterAll(async () => {
    await platform?.stop();
  }, 60_000);

  const ledger = (runId: string): Promise<LedgerRow[]> =>
    platform.sql(async (client) => {
      const { rows } = await client.query<LedgerRow>(
        'SELECT node, kind, attempt, event FROM ledger WHERE run_id = $1 ORDER BY id',
        [runId],
      );
      return rows;
    }, platform.ledgerUrl);

  const history = async (runId: string): Promise<{ kind: string; nodeId: string | null; taskKind: string | null }[]> =>
    (await rest.get(`/v1/runs/${runId}/history?pageSize=1000`)).body.entries;

  const runOf = (index: number): string => runIds.get(demoRuns()[index]?.name ?? '') ?? '';

  it.each(demoRuns().map((run) => [run.name, run.expected]))('"%s" ends %s', async (name, expected) => {
    expect(await rest.outcome(runIds.get(name) as string)).toBe(expected);
  });

  it('undoes the reservation of the declined payment once, after the decline', async () => {
    const calls = (await ledger(runOf(1))).filter((row) => row.event !== 'started');
    expect(calls.map((row) => `${row.node} ${row.kind} ${row.event}`)).toEqual([
      'reserve forward finished',
      'charge forward failed',
      'reserve compensate finished',
    ]);
  });

  it('undoes in reverse order of dependency, each step once', async () => {
    const runId = await rest.startOrder({ ...demoRuns()[0]?.input, orderId: 'A-reverse', customer: 'nobody' });
    expect(await rest.outcome(runId)).toBe('COMPENSATED');
    const undone = (await ledger(runId)).filter((row) => row.kind === 'compensate' && row.event === 'finished');
    expect(undone.map((row) => row.node)).toEqual(['ship', 'charge', 'reserve']);
  });

  it('tries shipping three times and records the third', async () => {
    const calls = (await ledger(runOf(2))).filter((row) => row.node === 'ship' && row.event !== 'started');
    expect(calls.map((row) => `${row.attempt} ${row.event}`)).toEqual(['1 failed', '2 failed', '3 finished']);
  });

  it('shows every step of a run in its history, in order', async () => {
    const kinds = (await history(runOf(0))).map((entry) => entry.kind);
    expect(kinds[0]).toBe('run.started');
    expect(kinds.at(-1)).toBe('run.succeeded');
    const settled = (await history(runOf(0)))
      .filter((entry) => entry.kind === 'node.succeeded')
      .map((entry) => entry.nodeId);
    expect(settled.slice(0, 2)).toEqual(['reserve', 'charge']);
    expect(settled.slice(2, 4).sort()).toEqual(['invoice', 'ship']);
    expect(settled.slice(4)).toEqual(['notify']);
  });

  it('publishes the domain events of every run to Kafka, in order, under the key of the run (B07)', async () => {
    const runId = runOf(1);
    const ofRun = (events: readonly PublishedEvent[]): PublishedEvent[] =>
      events.filter((event) => event.key === runId);
    const events = ofRun(
      await readTopic(platform.kafka.brokers, 'baton.default.events', (seen) =>
        ofRun(seen).some((event) => event.type === 'run.compensated'),
      ),
    );
    expect(events.map((event) => event.type)).toEqual([
      'run.started',
      'node.succeeded',
      'node.failed',
      'run.compensation_started',
      'node.compensated',
      'run.compensated',
    ]);
    expect(events.map((event) => event.runSeq)).toEqual([...events.map((event) => event.runSeq)].sort((a, b) => a - b));
    expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  });

  it('B70: keeps integers beyond 2^53 and key order from the start to the output', async () => {
    const definition = {
      id: 'precise',
      version: 1,
      nodes: [{ id: 'approval', type: 'wait', signal: 'go' }],
      output: { given: '${input}', signal: '${nodes.approval.output}' },
    };
    await rest.post('/v1/definitions', definition);
    const input = '{"z":3544790567247868102,"a":[],"n":-9007199254740993,"nul":null,"__proto__":{"x":1}}';
    const started = await rest.send('POST', '/v1/runs', `{"definitionId":"precise","input":${input}}`, {
      'content-type': 'application/json',
    });
    const signal = await rest.send(
      'POST',
      `/v1/runs/${started.body.runId}/signals/go`,
      `{"payload":9007199254740993}`,
      {
        'content-type': 'application/json',
      },
    );
    expect(signal.status).toBe(200);
    expect(await rest.outcome(started.body.runId)).toBe('SUCCEEDED');
    const { text } = await rest.get(`/v1/runs/${started.body.runId}/result`);
    expect(text).toContain(`"output":{"given":${input},"signal":9007199254740993}`);
  });

  it('leaves nothing that the doctor finds: rows, keys, the relay, and every message in Kafka', async () => {
    const { postgres, kafka } = platform;
    const report = await examine({ databaseUrl: postgres.url, brokers: kafka.brokers, full: true });
    expect(report).toMatchObject({ findings: [], unable: [], ok: true });
    expect(report.examined.messages).toBe(report.examined.outboxRows);
    const relay = report.checks.find(({ name }) => name === 'relay');
    expect(relay?.looked).toContain('streaming; all that was committed is confirmed');
  });

  it('stops cleanly on SIGTERM: every service exits 0 within its grace period (B122)', async () => {
    for (const service of [...platform.services.values()].reverse()) {
      expect({ name: service.spec.name, code: await service.stop() }).toEqual({ name: service.spec.name, code: 0 });
    }
  });
});
