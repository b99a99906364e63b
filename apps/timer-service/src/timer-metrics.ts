import type { Metrics } from '@baton/platform';
import type { FiredRecord } from '@baton/wire';
import type { ActiveRole } from '@baton/storage-postgres';

export interface TimerMetrics {
  sawDue(count: number): void;
  fired(results: readonly FiredRecord[], lateMs: readonly number[]): void;
}

export function timerMetrics(metrics: Metrics, role: Pick<ActiveRole, 'isActive'>): TimerMetrics {
  metrics.gauge({
    name: 'timer_active',
    help: '1 = this process fires, 0 = it stands by',
    collect: () => Number(role.isActive),
  });
  const backlog = metrics.gauge({
    name: 'timer_due_backlog',
    help: 'due rows seen by the last look (a full page is 200)',
  });
  const delay = metrics.histogram({
    name: 'timer_fire_delay_seconds',
    help: 'from the instant of a row to when it was handed over, by the database clock',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300],
  });
  const outcomes = metrics.counter({ name: 'timer_fired_total', help: 'rows handed over', labels: ['outcome'] });
  return {
    sawDue: (count) => backlog.set(count),
    fired: (results, lateMs) => {
      for (const { outcome } of results) outcomes.inc({ outcome: outcome.toLowerCase() });
      for (const ms of lateMs) delay.observe(ms / 1000);
    },
  };
}
