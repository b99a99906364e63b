import { definition, task } from '../testing/definitions.js';
import { FakeRun } from '../testing/fake-run.js';
import { backoffMs, deadlinesOf, executionOf } from './policy.js';

const policy = {
  maxAttempts: 9,
  initialIntervalMs: 1_000,
  backoff: 2,
  maxIntervalMs: 10_000,
  jitter: 0,
  nonRetryable: [],
};

describe('backoffMs', () => {
  it('grows from the initial interval to the maximum', () => {
    expect([1, 2, 3, 4, 5, 50].map((failures) => backoffMs(policy, failures, 0))).toEqual([
      1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
    ]);
  });

  it('survives any number of failures', () => {
    expect(backoffMs(policy, 1_000_000, 0)).toBe(10_000);
    expect(backoffMs({ ...policy, initialIntervalMs: 0 }, 1_000_000, 0.5)).toBe(0);
  });

  it('draws from [(1 - jitter) * d, d]', () => {
    const jittered = { ...policy, jitter: 0.5 };
    expect(backoffMs(jittered, 1, 0)).toBe(1_000);
    expect(backoffMs(jittered, 1, 0.999_999)).toBe(500);
  });
});

describe('deadlinesOf', () => {
  const timeouts = { scheduleToStartMs: null, startToCloseMs: 1, heartbeatMs: 1, scheduleToCloseMs: null };

  it('R12: doubles the redispatch guard up to an hour', () => {
    const minutes = [0, 1, 2, 3, 4, 60].map(
      (times) => deadlinesOf(timeouts, times, 'kafka').redispatchAfterMs / 60_000,
    );
    expect(minutes).toEqual([5, 10, 20, 40, 60, 60]);
  });

  it('R12, R29: leaves a task that is claimed from its row in its place for a day', () => {
    const hours = [0, 1, 60].map((times) => deadlinesOf(timeouts, times, 'local').redispatchAfterMs / 3_600_000);
    expect(hours).toEqual([24, 24, 24]);
  });
});

describe('executionOf', () => {
  it('throws where the definition has no way to execute: the run is flagged, not lost', () => {
    const run = new FakeRun(definition([task('a')])).start();
    expect(() => executionOf(run.dag, { ...run.task('a'), kind: 'compensate' })).toThrow('no way to execute');
    expect(() => executionOf(run.dag, { ...run.task('a'), nodeId: 'gone' })).toThrow('no way to execute');
  });
});
