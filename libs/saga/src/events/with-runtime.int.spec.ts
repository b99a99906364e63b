import { createDatabase, eventually } from '@baton/testkit';
import { defineSaga } from '../definition/define-saga.js';
import { SagaRegistry } from '../definition/registry.js';
import type { Saga } from '../definition/saga.js';
import type { Outputs } from '../definition/types.js';
import { systemClock } from '../executor/system-clock.js';
import { createSagaRuntime } from '../runtime/create-runtime.js';
import { LogBook } from '../runtime/testing/runtime-fixture.js';
import { openSagaStore } from '../storage/postgres-store.js';
import { createSubscriber, wakeAll } from './subscribe.js';
import type { ReceivedEvent } from './subscriber.js';

const HOUR = 3_600_000;

it('O7, W15, W19: a runtime wakes the subscribers of its process, which poll once an hour, with every event of its sagas', async () => {
  const database = await createDatabase({ library: true });
  const store = await openSagaStore({ url: database.url });
  const saga = defineSaga<unknown, Outputs>({
    id: 'order',
    steps: [
      { name: 'reserve', run: () => ({ ok: true }), compensate: () => null },
      { name: 'pay', run: ({ input }) => (input === 'poor' ? Promise.reject(new Error('no money')) : { ok: true }) },
    ],
  }) as Saga;
  const logger = new LogBook();
  const seen: ReceivedEvent[] = [];
  const subscriber = createSubscriber({
    ...{ store, name: 'mail', logger, clock: systemClock, pollIntervalMs: HOUR },
    handle: (received) => void seen.push(received),
  });
  const relay = wakeAll([subscriber]);
  const runtime = await createSagaRuntime({ store, registry: new SagaRegistry([saga]), logger, relay });
  subscriber.start();
  await runtime.start();
  try {
    const client = runtime.client as { start(saga: Saga, input: unknown): Promise<{ readonly runId: string }> };
    const rich = await client.start(saga, 'rich');
    const poor = await client.start(saga, 'poor');
    const namesOf = ({ runId }: { readonly runId: string }) =>
      seen.filter((received) => received.runId === runId).map(({ event }) => event.name);
    await eventually(() => namesOf(rich).includes('succeeded') && namesOf(poor).includes('compensated'));
    expect(namesOf(rich)).toEqual(['started', 'step_completed', 'step_completed', 'succeeded']);
    expect(namesOf(poor)).toEqual([
      ...['started', 'step_completed', 'step_failed', 'compensation_started', 'step_compensated', 'compensated'],
    ]);
    expect(new Set(seen.map(({ eventId }) => eventId)).size).toBe(seen.length);
  } finally {
    await runtime.close();
    await subscriber.stop();
    await store.close();
    await database.drop();
  }
});
