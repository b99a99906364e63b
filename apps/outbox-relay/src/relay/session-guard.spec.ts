import { Patience, SessionOver } from './patience.js';
import { SessionGuard } from './session-guard.js';

describe('The guard of a session', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const guards: SessionGuard[] = [];
  const newGuard = (): SessionGuard => {
    const guard = new SessionGuard(3000);
    guards.push(guard);
    return guard;
  };
  afterEach(() => guards.splice(0).forEach((guard) => guard.end()));

  it('lets work go on while the process runs', () => {
    const guard = newGuard();
    for (let i = 0; i < 100; i += 1) {
      jest.advanceTimersByTime(1000);
      expect(() => guard.check()).not.toThrow();
    }
  });

  it('ends everything when the process stood still, before a timer can send anything (L5)', () => {
    const guard = newGuard();
    // Frozen: the clock went on, no timer ran.
    jest.setSystemTime(Date.now() + 10_000);
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_000);
    expect(() => guard.check()).toThrow(SessionOver);
    expect(guard.signal.aborted).toBe(true);
    expect(guard.failure?.message).toContain('stood still');
    jest.restoreAllMocks();
  });

  it('keeps the first reason, and none after an end that was asked for', () => {
    const failed = newGuard();
    failed.fail(new Error('first'));
    failed.fail(new Error('second'));
    expect(failed.failure?.message).toBe('first');
    const ended = newGuard();
    ended.end();
    ended.fail(new Error('late'));
    expect(ended.failure).toBeNull();
  });
});

describe('Patience', () => {
  it('ends with its session, also in the middle of a wait', async () => {
    const guard = new SessionGuard(3000);
    const waiting = new Patience(guard).wait();
    guard.fail(new Error('lost'));
    await expect(waiting).rejects.toThrow(SessionOver);
  });

  it('grows from one wait to the next', async () => {
    const guard = new SessionGuard(3000);
    const patience = new Patience(guard);
    const from = performance.now();
    await patience.wait();
    const first = performance.now() - from;
    for (let i = 0; i < 3; i += 1) await patience.wait();
    expect(performance.now() - from).toBeGreaterThan(first * 2);
    guard.end();
  });
});
