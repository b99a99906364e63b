import { clientWorld, order, type ClientWorld } from '../client/testing/client-world.js';
import { openMemorySagaStore } from '../testing/memory-store.js';
import { BareEnqueue } from './old/bare-enqueue.js';

/** What a service wants of those who run its sagas. What cannot be done throws. */
interface Producer {
  start(order: { readonly key: string; readonly sku: string }): unknown;
  /** What the first step of this order is given. */
  inputOfFirstStep(): unknown;
  /** Runs of this order. */
  find(key: string): unknown;
  approve(key: string): unknown;
  cancel(key: string): unknown;
  statusOf(key: string): unknown;
}

const ABILITIES: readonly (readonly [string, (producer: Producer) => Promise<boolean>])[] = [
  [
    'the first step gets the input',
    async (producer) => {
      await producer.start({ key: 'A-1', sku: 'lamp' });
      return JSON.stringify(await producer.inputOfFirstStep()) === '{"sku":"lamp"}';
    },
  ],
  [
    'a start that is repeated after a lost answer starts nothing',
    async (producer) => {
      await producer.start({ key: 'A-1', sku: 'lamp' });
      await producer.start({ key: 'A-1', sku: 'lamp' });
      return ((await producer.find('A-1')) as unknown[]).length === 1;
    },
  ],
  [
    'a run is found by the number of its order',
    async (producer) => {
      await producer.start({ key: 'A-1', sku: 'lamp' });
      await producer.start({ key: 'A-2', sku: 'desk' });
      return ((await producer.find('A-2')) as unknown[]).length === 1;
    },
  ],
  [
    'a person approves it',
    async (producer) => {
      await producer.start({ key: 'A-1', sku: 'lamp' });
      await producer.approve('A-1');
      return (await producer.statusOf('A-1')) !== 'failed';
    },
  ],
  [
    'it is called off',
    async (producer) => {
      await producer.start({ key: 'A-1', sku: 'lamp' });
      await producer.cancel('A-1');
      return (await producer.statusOf('A-1')) === 'cancelled';
    },
  ],
];

/** W13: everything that a service wants of a run can be done. */
async function canBeSteered(make: () => Promise<Producer>): Promise<void> {
  const missing: string[] = [];
  for (const [what, works] of ABILITIES) {
    const producer = await make();
    const done = await works(producer).catch(() => false);
    if (!done) missing.push(what);
  }
  expect(missing).toEqual([]);
}

function ourProducer({ client, step }: ClientWorld): Producer {
  const runOf = async (key: string) => {
    const [found] = (await client.list({ sagaId: 'order', businessKey: key })).sagas;
    if (found === undefined) throw new Error(`there is no run of ${key}`);
    return found.runId;
  };
  return {
    start: ({ key, sku }) => client.start(order, { sku }, { businessKey: key, idempotencyKey: key }),
    async inputOfFirstStep() {
      const claimed = await step('reserve', { kind: 'step_completed', output: '{"reservation":"r"}' });
      return (JSON.parse(claimed.input) as { readonly input: unknown }).input;
    },
    find: async (key) => (await client.list({ sagaId: 'order', businessKey: key })).sagas,
    approve: async (key) => client.signal(await runOf(key), 'approved', { by: 'ada' }),
    cancel: async (key) => client.cancel(await runOf(key)),
    statusOf: async (key) => (await client.get(await runOf(key))).status,
  };
}

function oldProducer(old: BareEnqueue): Producer {
  const cannot = () => {
    throw new Error('there is no way to do it');
  };
  return {
    start: ({ key }) => old.enqueue(key, 'order'),
    inputOfFirstStep: () => null,
    find: (key) => [old.load(key)],
    approve: cannot,
    cancel: cannot,
    statusOf: cannot,
  };
}

describe('W13: what a service can do with its runs', () => {
  it('W13: a run has an input and keys, is found, signalled and cancelled', async () => {
    await canBeSteered(async () => {
      const store = openMemorySagaStore();
      return ourProducer(await clientWorld(() => Promise.resolve(store)));
    });
  });

  it('W13: the old behaviour fails this check', async () => {
    const old = () => Promise.resolve(oldProducer(new BareEnqueue()));
    await expect(canBeSteered(old)).rejects.toThrow();
  });
});
