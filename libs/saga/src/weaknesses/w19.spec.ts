import { eventually } from '@baton/testkit';
import { defineSaga } from '../definition/define-saga.js';
import { SagaRegistry } from '../definition/registry.js';
import { createSubscriber } from '../events/subscribe.js';
import { createSagaRuntime } from '../runtime/create-runtime.js';
import { LogBook } from '../runtime/testing/runtime-fixture.js';
import { fakeClock } from '../testing/fake-clock.js';
import { openMemorySagaStore } from '../testing/memory-store.js';
import { OldRelay, type OldRow } from './old/row-by-row-relay.js';

interface Delivered {
  /** Positions of the events of one run, as they were taken, once the second of them had failed once. */
  inOrder(): Promise<readonly number[]>;
  /** Whether events that were committed and announced arrive without the next poll. */
  soon(): Promise<boolean>;
}

/** W19: events of one run arrive in their order, whatever fails, and do not wait for a poll. */
async function arrivesInOrderAndSoon({ inOrder, soon }: Delivered): Promise<void> {
  const order = await inOrder();
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(await soon()).toBe(true);
}

const AN_HOUR = 3_600_000;

async function ours(): Promise<{ readonly delivered: Delivered; close(): Promise<void> }> {
  const taken: number[] = [];
  let hasFailed = false;
  const store = openMemorySagaStore();
  const subscriber = createSubscriber({
    ...{ store, name: 'billing', pollIntervalMs: AN_HOUR, backoffMs: [1, 1], logger: new LogBook() },
    handle: ({ runSeq }) => {
      if (taken.length === 1 && !hasFailed) {
        hasFailed = true;
        throw new Error('the receiver is away');
      }
      taken.push(runSeq);
    },
  });
  const steps = ['a', 'b', 'c'].map((name) => ({ name, run: () => null }));
  const saga = defineSaga({ id: 'order', steps });
  const runtime = await createSagaRuntime({
    ...{ store, registry: new SagaRegistry([saga]), relay: subscriber, logger: new LogBook() },
  });
  const inOrder = async () => {
    await runtime.start();
    subscriber.start();
    await runtime.client.start('order', null);
    // One of the start, three of the steps, one of the end: nobody polls within the hour.
    await eventually(() => taken.length === 5);
    return taken;
  };
  return {
    delivered: { inOrder, soon: () => Promise.resolve(hasFailed && taken.length === 5) },
    close: async () => {
      await subscriber.stop();
      await runtime.close();
    },
  };
}

describe('W19: events that overtake each other and wait for a poll', () => {
  it('W19: a run is told in its order, and at once', async () => {
    const { delivered, close } = await ours();
    try {
      await arrivesInOrderAndSoon(delivered);
    } finally {
      await close();
    }
  });

  it('W19: the old behaviour fails this check', async () => {
    const clock = fakeClock();
    const taken: number[] = [];
    let hasFailed = false;
    const relay = new OldRelay(clock, 1_000, ({ runSeq }: OldRow) => {
      if (runSeq === 2 && !hasFailed) {
        hasFailed = true;
        throw new Error('the receiver is away');
      }
      taken.push(runSeq);
    });
    const inOrder = async () => {
      for (const runSeq of [1, 2, 3]) relay.commit({ runId: 'run', runSeq });
      relay.start();
      await clock.advance(2_000);
      return taken;
    };
    const soon = async () => {
      relay.commit({ runId: 'run', runSeq: 4 });
      relay.kick();
      await clock.advance(10);
      return taken.includes(4);
    };
    await expect(arrivesInOrderAndSoon({ inOrder, soon })).rejects.toThrow();
    expect(taken).toEqual([1, 3, 2]);
    expect(await soon()).toBe(false);
  });
});
