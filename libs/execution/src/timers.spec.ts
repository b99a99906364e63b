import { after, backoffMs } from './timers.js';

describe('timers', () => {
  afterEach(() => jest.useRealTimers());

  it('beyond 24.8 days do not fire at once (B29)', () => {
    jest.useFakeTimers();
    const warnings = jest.spyOn(process, 'emitWarning');
    const fired = jest.fn();
    const days = 24 * 3_600_000;
    after(30 * days, fired);
    jest.advanceTimersByTime(29 * days);
    expect(fired).not.toHaveBeenCalled();
    jest.advanceTimersByTime(2 * days);
    expect(fired).toHaveBeenCalledTimes(1);
    expect(warnings).not.toHaveBeenCalled();
  });

  it('can be stopped', () => {
    jest.useFakeTimers();
    const fired = jest.fn();
    after(10, fired)();
    jest.advanceTimersByTime(100);
    expect(fired).not.toHaveBeenCalled();
  });

  it('of a backoff double up to their limit', () => {
    for (let tries = 0; tries < 200; tries += 1) {
      const ms = backoffMs(tries, 20, 2_000);
      expect(ms).toBeGreaterThanOrEqual(10);
      expect(ms).toBeLessThanOrEqual(2_000);
    }
    expect(backoffMs(0, 20, 2_000)).toBeLessThanOrEqual(20);
  });
});
