import { fakeClock, settle } from '../testing/fake-clock.js';
import { recordingLogger } from '../testing/steps.js';
import { guardObserver, nopObserver, observeWith, type GuardOptions } from './guard-observer.js';
import type { SagaObserver } from './observer.js';

const tick = { result: 'empty', claimed: 0, durationMs: 1 } as const;
const drive = { runId: 'r', sagaId: 'order', result: 'ok', steps: 1, durationMs: 1 } as const;

function guarded(observer: SagaObserver | null, more: Partial<GuardOptions> = {}) {
  const clock = fakeClock();
  const logger = recordingLogger();
  return { clock, logger, guard: guardObserver(observer, { clock, logger, ...more }) };
}

describe('a guarded observer', () => {
  it('hears what it has callbacks for, as it was told', () => {
    const outcome = jest.fn();
    const { guard } = guarded({ outcome });
    const facts = { runId: 'r', sagaId: 'order', step: 's', kind: 'forward', attempt: 1 } as const;
    guard.outcome?.({ ...facts, outcome: 'succeeded', durationMs: 2 });
    expect(outcome).toHaveBeenCalledWith({ ...facts, outcome: 'succeeded', durationMs: 2 });
    expect(guard.tick).toBeUndefined();
  });

  it('keeps the object that its callbacks belong to', () => {
    class Counting implements SagaObserver {
      ticks = 0;
      tick(): void {
        this.ticks += 1;
      }
    }
    const observer = new Counting();
    guarded(observer).guard.tick?.(tick);
    expect(observer.ticks).toBe(1);
  });

  it('E14: may be none at all', () => {
    expect(guarded(null).guard.tick).toBeUndefined();
    expect(nopObserver.tick).toBeUndefined();
  });

  it.each<[string, () => unknown]>([
    ['throws', () => fail()],
    ['rejects', () => Promise.reject(new TypeError('secret: run r of order'))],
    [
      'answers something whose then throws',
      () => ({
        get then(): never {
          return fail();
        },
      }),
    ],
  ])('E14, C22: that %s is contained, and logged without its text', async (_what, callback) => {
    const { guard, logger, clock } = guarded({ tick: callback });
    expect(() => guard.tick?.(tick)).not.toThrow();
    await settle();
    expect(logger.lines).toEqual([
      { level: 'warn', message: 'an observer failed', fields: { callback: 'tick', error: 'TypeError' } },
    ]);
    expect(clock.pending).toBe(0);
  });

  it('E14, C22: that hangs stalls nobody, is told of after the deadline, and leaves no timer', async () => {
    const { guard, logger, clock } = guarded({ tick: () => new Promise(() => undefined) });
    guard.tick?.(tick);
    await clock.advance(4_999);
    expect(logger.lines).toEqual([]);
    await clock.advance(1);
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { callback: 'tick', deadline_ms: 5_000 } }]);
    expect(clock.pending).toBe(0);
  });

  it('W20: that hangs for ever is called a bounded number of times; the rest is dropped and counted', async () => {
    let calls = 0;
    const hanging = { tick: () => new Promise(() => (calls += 1)), drive: jest.fn() };
    const { guard, clock, logger } = guarded(hanging, { maxPending: 10 });
    for (let n = 0; n < 1_000; n += 1) guard.tick?.(tick);
    await clock.advance(10_000);
    expect(calls).toBe(10);
    expect(guard.dropped).toBe(990);
    expect(logger.lines.length).toBeLessThan(25);
    guard.drive?.(drive);
    expect(hanging.drive).toHaveBeenCalledTimes(1);
  });

  it('that settles in time is called on and on', async () => {
    const seen = jest.fn(() => Promise.resolve());
    const { guard, clock } = guarded({ tick: seen }, { maxPending: 1 });
    for (let n = 0; n < 5; n += 1) {
      guard.tick?.(tick);
      await settle();
    }
    expect(seen).toHaveBeenCalledTimes(5);
    expect(clock.pending).toBe(0);
  });

  it('may be several', () => {
    const first = { tick: jest.fn() };
    const second = { tick: jest.fn(), drive: jest.fn() };
    const both = observeWith([first, second]);
    both.tick?.(tick);
    both.drive?.(drive);
    expect([first.tick, second.tick, second.drive].map((seen) => seen.mock.calls.length)).toEqual([1, 1, 1]);
    expect(both.outcome).toBeUndefined();
    expect(observeWith([first])).toBe(first);
  });
});

function fail(): never {
  throw new TypeError('secret: run r of order');
}
