import {
  createSagaClient,
  createSagaRuntime,
  defineSaga,
  NonRetryableError,
  SagaRegistry,
  type Outputs,
  type Saga,
  type SagaClient,
  type SagaEvent,
  type SagaResult,
  type SagaRuntime,
} from '@baton/saga';
import { Platform } from '@baton/testkit';
import { Client } from 'pg';

interface Order {
  readonly sku: string;
  readonly payment: 'accepted' | 'declined';
}

/** What the steps of one saga saw, and the saga: parallel steps, a signal, a retry, an undo. */
function orderSaga(): { readonly saga: Saga<Order, Outputs>; readonly seen: string[] } {
  const seen: string[] = [];
  const saga = defineSaga<Order>({
    id: 'both_ways',
    timeout: 'PT10M',
    retry: { maxAttempts: 3, baseInterval: 10 },
    steps: [
      {
        name: 'reserve',
        run: ({ input, attempt, previous }) => {
          seen.push(`reserve ${JSON.stringify({ input, attempt, previous })}`);
          if (attempt === 1) throw new Error('the warehouse was away');
          return { reservation: `r-${input.sku}` };
        },
        compensate: ({ output, input }) => {
          seen.push(`undo reserve ${JSON.stringify({ output, input })}`);
        },
      },
      { name: 'approval', waitFor: 'approved' },
      {
        name: 'charge',
        run: ({ input, previous, outputs, idempotencyKey, runId }) => {
          const key = idempotencyKey.replace(runId, '<run>');
          seen.push(`charge ${JSON.stringify({ previous, outputs, key })}`);
          if (input.payment === 'declined') throw new NonRetryableError('DECLINED', 'no money');
          return { paid: 12.5 };
        },
        compensate: () => undefined,
      },
      {
        name: 'ship',
        run: ({ previous }) => {
          seen.push(`ship ${JSON.stringify(previous)}`);
          return ['parcel', null];
        },
      },
    ],
  });
  return { saga, seen };
}

/** What must be the same: not ids, instants or versions. */
interface Run {
  readonly result: Omit<SagaResult, 'runId'>;
  readonly journal: readonly object[];
  readonly steps: readonly object[];
  readonly seen: readonly string[];
}

describe('one saga, embedded and on the platform', () => {
  let platform: Platform;
  let databaseUrl: string;

  beforeAll(async () => {
    platform = await Platform.start({ workers: 0 });
    databaseUrl = await emptyDatabase(platform.postgres.url);
  }, 240_000);

  afterAll(async () => {
    await platform?.stop();
  }, 60_000);

  const embedded = (saga: Saga) =>
    createSagaRuntime({ database: { url: databaseUrl, migrate: true }, registry: new SagaRegistry([saga]) });

  const onPlatform = (saga: Saga) => createSagaRuntime({ mode: 'platform', ...placeOf(saga) });
  const placeOf = (saga: Saga) => ({
    registry: new SagaRegistry([saga]),
    platform: {
      url: platform.gatewayUrl,
      brokers: platform.kafka.brokers.split(','),
      coordinators: platform.coordinatorUrls,
    },
  });

  async function run(make: (saga: Saga) => Promise<SagaRuntime>, payment: Order['payment']): Promise<Run> {
    const { saga, seen } = orderSaga();
    const runtime = await make(saga);
    await runtime.start();
    try {
      const client = runtime.client as SagaClient;
      const started = await client.start(saga, { sku: 'lamp', payment }, { businessKey: `A-${payment}` });
      await client.signal(started.runId, 'approved', { by: 'ada' });
      const { runId, ...result } = await started.result({ timeoutMs: 60_000 });
      const { steps } = await client.get(runId);
      const found = await client.list({ businessKey: `A-${payment}`, sagaId: saga.id });
      expect(found.sagas.map((view) => view.runId)).toEqual([runId]);
      return {
        result,
        seen,
        journal: told(await client.history(runId)),
        steps: steps.map(({ createdAt: _, settledAt: __, ...step }) => step),
      };
    } finally {
      await runtime.close(5_000);
    }
  }

  it.each(['accepted', 'declined'] as const)(
    'has the same journal, the same steps and the same result when the payment is %s',
    async (payment) => {
      const here = await run(embedded, payment);
      const there = await run(onPlatform, payment);
      expect(here.result.status).toBe(payment === 'accepted' ? 'succeeded' : 'compensated');
      expect(here.journal.length).toBeGreaterThan(8);
      expect(there).toEqual(here);
    },
    120_000,
  );

  it('W12: a changed saga under a published version is refused on the platform too, by its steps', async () => {
    const { saga } = orderSaga();
    const changed = defineSaga({ ...saga.options, steps: saga.options.steps.filter(({ name }) => name !== 'ship') });
    const runtime = await onPlatform(changed);
    await expect(runtime.start()).rejects.toMatchObject({
      kind: 'conflict',
      code: 'DEFINITION_CHANGED',
      details: [{ pointer: '/both_ways@1/steps/ship', code: 'STEP_REMOVED' }],
    });
    await runtime.close();
  }, 60_000);

  it('a client without a runtime starts and steers sagas over the gateway, and is refused in the same words', async () => {
    const client = await createSagaClient({ mode: 'platform', platform: { url: platform.gatewayUrl } });
    const { runId } = await client.start('both_ways', { sku: 'desk', payment: 'accepted' });
    expect(await client.get(runId)).toMatchObject({ status: 'pending' });
    expect(await client.cancel(runId)).toMatchObject({ status: 'cancelled', epoch: 1 });
    expect(await client.result(runId)).toMatchObject({ status: 'cancelled' });
    const tx = { query: () => Promise.resolve([]) };
    await expect(client.start('both_ways', null, { tx })).rejects.toMatchObject({ code: 'TRANSACTIONS_UNSUPPORTED' });
    await expect(client.start('nothing')).rejects.toMatchObject({ kind: 'not-found', code: 'SAGA_NOT_FOUND' });
    await expect(client.get(runId.replace(/.$/, '0').replace(/^./, 'f'))).rejects.toMatchObject({ kind: 'not-found' });
  }, 60_000);
});

/** Kinds, steps, attempts and codes, in order. */
function told(events: readonly SagaEvent[]): readonly object[] {
  return events.map(({ kind, step, attempt, code }) => ({ kind, step, attempt, code }));
}

/** That of the service: beside the platform's, and without its tables. */
async function emptyDatabase(url: string): Promise<string> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await admin.query('CREATE DATABASE service');
  await admin.end();
  return Object.assign(new URL(url), { pathname: '/service' }).href;
}
