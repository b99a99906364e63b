import { NonRetryableError, TaskError } from '@baton/execution';
import { createDatabase, eventually, moveClock, type TestDatabase } from '@baton/testkit';
import { Registry } from 'prom-client';
import { defineSaga } from '../definition/define-saga.js';
import { SagaRegistry } from '../definition/registry.js';
import { createSagaRuntime } from '../runtime/create-runtime.js';
import { defaultSagaConfig } from '../runtime/config.js';
import type { SagaRuntime } from '../runtime/saga-runtime.js';
import type { SagaClient } from '../client/client.js';
import { recordingLogger } from '../testing/steps.js';

const order = defineSaga<{ readonly declined: boolean }, { reserve: number; charge: number }>({
  id: 'order',
  steps: [
    { name: 'reserve', run: () => 1, compensate: () => null },
    {
      name: 'charge',
      run: ({ input }) => {
        if (input.declined) throw new NonRetryableError('DECLINED');
        return 2;
      },
    },
  ],
});

let tries = 0;
const flaky = defineSaga({
  id: 'flaky',
  retry: { maxAttempts: 3, baseInterval: 10 },
  steps: [
    {
      name: 'call',
      run: () => {
        tries += 1;
        if (tries < 3) throw new TaskError('CARRIER_DOWN');
        return tries;
      },
    },
  ],
});

describe('the metrics of a runtime on PostgreSQL', () => {
  let database: TestDatabase;
  const registry = new Registry();
  let runtime: SagaRuntime;

  beforeAll(async () => {
    database = await createDatabase({ library: true });
    runtime = await createSagaRuntime({
      registry: new SagaRegistry([order, flaky]),
      database: { url: database.url, poolSize: 6 },
      config: { ...defaultSagaConfig, pollIntervalMs: 3_600_000 },
      logger: recordingLogger(),
      metrics: registry,
      cell: 'shop',
    });
  });
  afterAll(async () => {
    await runtime.close();
    await database.drop();
  });

  const valueOf = async (metric: string): Promise<number | undefined> => {
    const line = (await registry.metrics()).split('\n').find((one) => one.startsWith(`${metric} `));
    return line === undefined ? undefined : Number(line.slice(metric.length + 1));
  };

  it('W18: shows what waits and for how long, then how it went', async () => {
    await runtime.start();
    await runtime.stop();
    const client = runtime.client as SagaClient;
    const started = [];
    for (const declined of [false, false, true]) started.push(await client.start(order, { declined }));
    await moveClock(database.url, '60 seconds');
    expect(await valueOf('saga_runs_active{cell="shop",status="running"}')).toBe(3);
    expect(await valueOf('saga_backlog_steps{cell="shop"}')).toBe(3);
    expect(await valueOf('saga_oldest_claimable_seconds{cell="shop"}')).toBeGreaterThanOrEqual(60);

    await runtime.start();
    await runtime.tick();
    const ended = 'saga_duration_seconds_count{cell="shop",definition_id="order",status=';
    await eventually(async () => {
      const ends = [await valueOf(`${ended}"succeeded"}`), await valueOf(`${ended}"compensated"}`)];
      return ends[0] === 2 && ends[1] === 1;
    });
    const outcomes = 'saga_step_outcome_total{cell="shop",definition_id="order",outcome=';
    expect(await valueOf(`${outcomes}"succeeded"}`)).toBe(5);
    expect(await valueOf(`${outcomes}"failed"}`)).toBe(1);
    const undos = 'saga_compensation_outcome_total{cell="shop",definition_id="order",outcome="succeeded"}';
    expect(await valueOf(undos)).toBe(1);
    expect(await valueOf('saga_runs_active{cell="shop",status="running"}')).toBe(0);
    expect(await valueOf('saga_backlog_steps{cell="shop"}')).toBe(0);
    expect(await valueOf('saga_oldest_claimable_seconds{cell="shop"}')).toBe(0);
    expect(started.every(({ created }) => created)).toBe(true);
  });

  it('E14: counts three attempts of a step as three outcomes and two retries', async () => {
    const { result } = await (runtime.client as SagaClient).start(flaky, null);
    expect(await result()).toMatchObject({ status: 'succeeded', output: 3 });
    const labels = 'cell="shop",definition_id="flaky"';
    expect(await valueOf(`saga_step_outcome_total{${labels},outcome="failed"}`)).toBe(2);
    expect(await valueOf(`saga_step_outcome_total{${labels},outcome="succeeded"}`)).toBe(1);
    expect(await valueOf(`saga_step_retry_total{${labels},step_name="call"}`)).toBe(2);
  });
});
