import { eventually } from '@baton/testkit';
import { systemClock } from '../executor/system-clock.js';
import type { EventHandler, EventSubscriber, ReceivedEvent } from '../events/subscriber.js';
import { createLocalSubscriber, createSubscriber, wakeAll, type SubscribeOptions } from '../events/subscribe.js';
import { sagaEventNames } from '../events/event-names.js';
import { openSagaEngine } from '../storage/open-engine.js';
import { LogBook } from '../runtime/testing/runtime-fixture.js';
import { done, openWorld, type JournalWorld, type MakeStore, type StoreUnderTest } from './journal-world.js';

const HOUR = 3_600_000;
const hasEnded = ({ event }: ReceivedEvent) => event.name === 'succeeded';

/** How events reach those who subscribe, on any database. */
export function describeSubscribers(name: string, make: MakeStore): void {
  describe(`subscribers on ${name}`, () => {
    let under: StoreUnderTest;
    let world: JournalWorld;
    let count = 0;
    const open: EventSubscriber[] = [];
    const closing: (() => Promise<void>)[] = [];
    beforeAll(async () => {
      under = await make();
    });
    beforeEach(async () => {
      const engine = openSagaEngine(under.store, { events: sagaEventNames() });
      closing.push(() => engine.close());
      world = await openWorld({ under, engine, otherEngine: engine, namespace: `subscribers-${(count += 1)}` });
    });
    afterEach(async () => {
      await Promise.all(open.splice(0).map((subscriber) => subscriber.stop()));
    });
    afterAll(async () => {
      for (const close of closing) await close();
      await under.close();
    });

    const log = () => new LogBook();
    function subscribe(handle: EventHandler, more: Partial<SubscribeOptions> = {}): EventSubscriber {
      const options = {
        store: under.store,
        namespace: world.namespace,
        name: 'mail',
        logger: log(),
        clock: systemClock,
      };
      const subscriber = createSubscriber({ ...options, pollIntervalMs: 5, backoffMs: [1, 5], handle, ...more });
      open.push(subscriber);
      return subscriber;
    }
    /** A run of one step, from start to end: three events. */
    async function run(): Promise<string> {
      const step = await world.begin('one');
      await world.journal.append(step, done());
      return step.runId;
    }
    function recorder() {
      const seen: ReceivedEvent[] = [];
      const ids = () => seen.map(({ eventId }) => eventId);
      return { seen, ids, handle: (received: ReceivedEvent) => void seen.push(received) };
    }

    it('O7: a subscriber gets the events of each run in the order of the run, with their types and payloads', async () => {
      const { seen, handle } = recorder();
      const runs = [await run(), await run()];
      subscribe(handle).start();
      await eventually(() => seen.length === 6);
      for (const runId of runs) {
        const own = seen.filter((received) => received.runId === runId);
        expect(own.map(({ event }) => event.name)).toEqual(['started', 'step_completed', 'succeeded']);
        expect(own.map(({ runSeq }) => runSeq)).toEqual([1, 2, 3]);
        expect(own[1]?.event).toMatchObject({
          type: 'saga.one.step_completed',
          payload: { instanceId: runId, step: 'a', definitionId: 'one', definitionVersion: 1 },
        });
      }
    });

    it('O7: each name has a position of its own: all get all', async () => {
      const first = recorder();
      const second = recorder();
      await run();
      subscribe(first.handle).start();
      subscribe(second.handle, { name: 'search' }).start();
      await eventually(() => first.seen.length === 3 && second.seen.length === 3);
      expect(second.ids()).toEqual(first.ids());
    });

    it('O7, O6: processes that share a name share the work: one handles, the other stands by and takes over', async () => {
      const first = recorder();
      const second = recorder();
      const active = subscribe(first.handle);
      active.start();
      await run();
      await eventually(() => first.seen.length === 3);
      const standby = subscribe(second.handle);
      standby.start();
      await run();
      await eventually(() => first.seen.length === 6);
      expect(second.seen).toEqual([]);
      await active.stop();
      await run();
      standby.kick();
      await eventually(() => second.seen.length === 3);
      expect(first.seen).toHaveLength(6);
    });

    it('O1: begins with the oldest event, or with what comes after it, as asked', async () => {
      const all = recorder();
      const fresh = recorder();
      await run();
      const late = subscribe(fresh.handle, { name: 'late', from: 'now' });
      late.start();
      await eventually(async () => (await under.store.positions.read(world.namespace, 'late')) !== undefined);
      const runId = await run();
      subscribe(all.handle).start();
      await eventually(() => all.seen.length === 6 && fresh.seen.length === 3);
      expect(new Set(fresh.seen.map((received) => received.runId))).toEqual(new Set([runId]));
    });

    it('O1: reads no more at once than it was asked to, and all of it in the end', async () => {
      const { seen, handle } = recorder();
      for (let runs = 0; runs < 3; runs += 1) await run();
      subscribe(handle, { batchSize: 2 }).start();
      await eventually(() => seen.length === 9);
      expect(new Set(seen.map(({ eventId }) => eventId)).size).toBe(9);
    });

    it('O2, O3: after a restart it goes on where it was: what was done does not come again', async () => {
      const { seen, handle } = recorder();
      await run();
      const first = subscribe(handle);
      first.start();
      await eventually(() => seen.length === 3);
      await first.stop();
      await run();
      subscribe(handle).start();
      await eventually(() => seen.length === 6);
      expect(new Set(seen.map(({ eventId }) => eventId)).size).toBe(6);
    });

    it('O2: what was not confirmed comes again: the handler had run, the position could not be stored', async () => {
      const { seen, handle } = recorder();
      await run();
      const { positions } = under.store;
      let isBroken = true;
      const broken = {
        ...positions,
        move: (...move: Parameters<typeof positions.move>) =>
          isBroken && move[2] !== undefined
            ? Promise.reject(new Error('the database is away'))
            : positions.move(...move),
      };
      subscribe(handle, { store: { ...under.store, positions: broken } }).start();
      await eventually(() => seen.length >= 3);
      isBroken = false;
      await eventually(async () => (await positions.read(world.namespace, 'mail'))?.cursor !== null);
      expect(seen.length).toBeGreaterThanOrEqual(6);
      expect(new Set(seen.map(({ eventId }) => eventId)).size).toBe(3);
    });

    it('O2, O6: a process that is late does not move the position of the one that took over', async () => {
      const { positions } = under.store;
      const { namespace } = world;
      expect(await positions.move(namespace, 'late', undefined, null)).toBe(true);
      expect(await positions.move(namespace, 'late', undefined, 'x')).toBe(false);
      expect(await positions.move(namespace, 'late', null, 'b')).toBe(true);
      expect(await positions.move(namespace, 'late', null, 'a')).toBe(false);
      expect(await positions.read(namespace, 'late')).toEqual({ cursor: 'b', stoppedAt: null, failure: null });
    });

    it('O5: a failed call comes again with its number, and no later event comes before', async () => {
      const seen: string[] = [];
      const runId = await run();
      const handle = ({ event, attempt }: ReceivedEvent) => {
        seen.push(`${event.name} ${attempt}`);
        if (event.name === 'step_completed' && attempt < 3) throw new Error('not now');
      };
      subscribe(handle).start();
      await eventually(() => seen.length === 5);
      expect(runId).toBeDefined();
      expect(seen).toEqual(['started 1', 'step_completed 1', 'step_completed 2', 'step_completed 3', 'succeeded 1']);
    });

    it('O5: an event that cannot be handled stops the subscriber, loudly; it is passed by only when somebody says so', async () => {
      const logger = log();
      const seen: string[] = [];
      const stops: string[] = [];
      await run();
      const handle = ({ event }: ReceivedEvent) => {
        seen.push(event.name);
        if (event.name === 'step_completed') throw new Error('secret');
      };
      const subscriber = subscribe(handle, { maxAttempts: 3, logger, onStopped: ({ eventId }) => stops.push(eventId) });
      subscriber.start();
      const { positions } = under.store;
      const stopped = await eventually(async () => {
        const position = await positions.read(world.namespace, 'mail');
        return position?.stoppedAt === null ? undefined : position;
      });
      expect(seen).toEqual(['started', 'step_completed', 'step_completed', 'step_completed']);
      expect([subscriber.stoppedAt, stops]).toEqual([stopped.stoppedAt, [stopped.stoppedAt]]);
      expect(stopped.failure).toBe('its handler failed 3 times');
      expect(logger.of('error')).toEqual(['a subscriber has stopped: its handler cannot take an event']);
      await expect(subscriber.skip('another')).rejects.toMatchObject({ code: 'STOP_UNKNOWN' });
      await subscriber.skip(stopped.stoppedAt ?? '');
      await eventually(() => seen.at(-1) === 'succeeded');
      expect(subscriber.stoppedAt).toBeNull();
      await eventually(async () => (await positions.read(world.namespace, 'mail'))?.stoppedAt === null);
    });

    it('O5: a stopped subscriber tries the same event again when it is resumed', async () => {
      const seen: string[] = [];
      let isMended = false;
      await run();
      const handle = ({ event }: ReceivedEvent) => {
        if (!isMended) throw new Error('not yet');
        seen.push(event.name);
      };
      const subscriber = subscribe(handle, { maxAttempts: 1 });
      subscriber.start();
      await eventually(() => subscriber.stoppedAt !== null);
      isMended = true;
      subscriber.resume();
      await eventually(() => seen.length === 3);
    });

    it('O7: a stop waits for the handler that runs, whose signal is aborted, and keeps what was done', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const seen: string[] = [];
      await run();
      const subscriber = subscribe(async ({ event, signal }) => {
        seen.push(event.name);
        signal.addEventListener('abort', () => resolve());
        await promise;
      });
      subscriber.start();
      await eventually(() => seen.length === 1);
      await subscriber.stop();
      expect(seen).toEqual(['started']);
      const again = recorder();
      subscribe(again.handle).start();
      await eventually(() => again.seen.length === 2);
    });

    it('O7: only what was asked for reaches the handler, and the rest is passed by for good', async () => {
      const { seen, handle } = recorder();
      await run();
      subscribe(handle, { wants: ({ name: kind }) => kind === 'succeeded' }).start();
      await eventually(() => seen.some(hasEnded));
      expect(seen).toHaveLength(1);
      const { positions } = under.store;
      await eventually(async () => (await positions.read(world.namespace, 'mail'))?.cursor !== null);
    });

    it('W19, W15: with a poll of an hour a commit of this process wakes its subscribers', async () => {
      const durable = recorder();
      const local = recorder();
      const { namespace } = world;
      const subscribers = [
        subscribe(durable.handle, { pollIntervalMs: HOUR }),
        createLocalSubscriber({
          ...{ store: under.store, namespace, name: 'screen', logger: log(), clock: systemClock },
          ...{ pollIntervalMs: HOUR, handle: local.handle },
        }),
      ];
      open.push(...subscribers);
      const relay = wakeAll(subscribers);
      for (const subscriber of subscribers) subscriber.start();
      await eventually(async () => (await under.store.positions.read(namespace, 'mail')) !== undefined);
      await run();
      await eventually(() => {
        relay.kick();
        return durable.seen.some(hasEnded) && local.seen.some(hasEnded);
      });
    });

    it.each(['', 'A', 'a b', 'x'.repeat(64)])('O7: %j is no name of a subscriber', (subscriber) => {
      expect(() => subscribe(() => null, { name: subscriber })).toThrow(
        expect.objectContaining({ kind: 'invalid', code: 'NAME_INVALID' }) as Error,
      );
    });
  });
}
