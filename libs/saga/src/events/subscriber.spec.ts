import type { GlobalEvent } from '../journal/ports.js';
import { LogBook } from '../runtime/testing/runtime-fixture.js';
import type { SubscriberPosition } from '../storage/saga-store.js';
import { fakeClock, settle } from '../testing/fake-clock.js';
import { EventSubscriber, type SubscriberSettings } from './subscriber.js';

const eventOf = (n: number): GlobalEvent => ({
  ...{ cursor: String(n), eventId: `event-${n}`, runId: 'run', runSeq: n, traceparent: null, createdAt: new Date(0) },
  type: 'saga.order.started',
  payload: JSON.stringify({ instanceId: 'run', definitionId: 'order', definitionVersion: 1, version: n }),
});

/** A subscriber of three events whose role, position and time are the test's. */
function fixture(settings: Partial<SubscriberSettings>) {
  const clock = fakeClock();
  const logger = new LogBook();
  const role = { holds: 0, isActive: true, hold: () => Promise.resolve(void (role.holds += 1) === undefined) };
  let position: SubscriberPosition = { cursor: null, stoppedAt: null, failure: null };
  const marks: unknown[] = [];
  const subscriber = new EventSubscriber(
    { name: 'mail', handle: () => undefined, ...settings },
    {
      ...{ clock, logger, namespace: 'default' },
      role: {
        hold: () => role.hold(),
        get isActive() {
          return role.isActive;
        },
        release: () => Promise.resolve(),
      },
      reader: {
        loadSince: (after) => Promise.resolve([1, 2, 3].filter((n) => n > Number(after ?? 0)).map(eventOf)),
        head: () => Promise.resolve(null),
      },
      positions: {
        read: () => Promise.resolve(position),
        move: (_namespace, _name, from, to) => {
          if (from !== position.cursor) return Promise.resolve(false);
          position = { cursor: to, stoppedAt: null, failure: null };
          return Promise.resolve(true);
        },
        mark: (_namespace, _name, stop) => Promise.resolve(void marks.push(stop)),
      },
    },
  );
  return {
    subscriber,
    clock,
    logger,
    role,
    marks,
    othersMoveTo: (cursor: string) => (position = { ...position, cursor }),
  };
}

describe('a subscriber', () => {
  it('O6: keeps its role while a handler takes longer than the role lasts, and no timer after it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { subscriber, clock, role } = fixture({ handle: () => promise });
    subscriber.start();
    await settle();
    const before = role.holds;
    for (let second = 0; second < 20; second += 1) await clock.advance(1_000);
    expect(role.holds - before).toBeGreaterThanOrEqual(9);
    resolve();
    await subscriber.stop();
    expect(clock.pending).toBe(0);
  });

  it('O6: after its role has lapsed under a handler it goes on where the stored position is', async () => {
    const seen: string[] = [];
    const { subscriber, role, othersMoveTo } = fixture({
      handle: ({ eventId }) => {
        seen.push(eventId);
        if (eventId !== 'event-1') return;
        // The process was held up; another one had the role, did the first two and left.
        role.isActive = false;
        othersMoveTo('2');
      },
    });
    role.hold = () => Promise.resolve((role.isActive = true));
    subscriber.start();
    await settle();
    expect(seen).toEqual(['event-1', 'event-3']);
    await subscriber.stop();
  });

  it('O6: resumed, it goes on where others have come to', async () => {
    const seen: string[] = [];
    let isMended = false;
    const { subscriber, othersMoveTo } = fixture({
      maxAttempts: 1,
      handle: ({ eventId }) => {
        seen.push(eventId);
        if (!isMended) throw new Error('not yet');
      },
    });
    subscriber.start();
    await settle();
    isMended = true;
    othersMoveTo('2');
    subscriber.resume();
    await settle();
    expect(seen).toEqual(['event-1', 'event-3']);
    await subscriber.stop();
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('O5: an onStopped that %s keeps nothing from the stored position', async (_what, onStopped) => {
    const { subscriber, marks, logger } = fixture({
      maxAttempts: 1,
      onStopped,
      handle: ({ eventId }) => {
        if (eventId === 'event-2') throw new Error('never');
      },
    });
    subscriber.start();
    await settle();
    expect(subscriber.stoppedAt).toBe('event-2');
    expect(marks).toEqual([{ event: 'event-2', failure: 'its handler failed 1 times' }]);
    expect(logger.of('warn')).toEqual(['onStopped of a subscriber failed']);
    await subscriber.stop();
  });
});
