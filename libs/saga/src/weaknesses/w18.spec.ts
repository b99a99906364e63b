import { Registry } from 'prom-client';
import { SagaMetrics } from '../observe/metrics.js';
import { recordingLogger, sagaOf } from '../testing/steps.js';
import { sixCounters } from './old/six-counters.js';

/** W18: how long steps and sagas take, how they end, what waits and for how long, and what claims cost, can be asked. */
async function tellsTimeAndBacklog(registry: Registry): Promise<void> {
  const text = await registry.metrics();
  const typed = (name: string) => new RegExp(`^# TYPE ${name} (\\w+)$`, 'm').exec(text)?.[1];
  for (const name of ['saga_step_duration_seconds', 'saga_duration_seconds', 'saga_claim_latency_seconds']) {
    expect([name, typed(name)]).toEqual([name, 'histogram']);
  }
  for (const name of ['saga_runs_active', 'saga_backlog_steps', 'saga_oldest_claimable_seconds']) {
    expect([name, typed(name)]).toEqual([name, 'gauge']);
  }
  expect(typed('saga_compensation_outcome_total')).toBe('counter');
  expect(text).toMatch(/^saga_oldest_claimable_seconds\{.*\} 12$/m);
}

describe('W18: metrics', () => {
  it('W18: tell time, backlog, age and undos', async () => {
    const registry = new Registry();
    new SagaMetrics({
      ...{ registry, cell: 'shop', logger: recordingLogger(), wallClock: () => 0 },
      resolver: { resolve: () => sagaOf({}) },
      readBacklog: () =>
        Promise.resolve({
          activeRuns: { running: 2, compensating: 0 },
          claimableSteps: 1,
          oldestClaimableMs: 12_000,
        }),
    });
    await tellsTimeAndBacklog(registry);
  });

  it('W18: the old behaviour fails this check', async () => {
    await expect(tellsTimeAndBacklog(sixCounters())).rejects.toThrow();
  });
});
