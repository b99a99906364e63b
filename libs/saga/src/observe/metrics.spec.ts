import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Counter, Registry } from 'prom-client';
import { recordingLogger, sagaOf } from '../testing/steps.js';
import { SAGA_METRICS } from './metric-catalogue.js';
import { SagaMetrics, type SagaMetricsOptions } from './metrics.js';
import { metricsPage } from './testing/metrics-page.js';

const PAGE = join(__dirname, '..', '..', '..', '..', 'docs', 'reference', 'saga-metrics.md');
const order = sagaOf({});
const facts = { runId: 'r', sagaId: 'order', step: 'charge', kind: 'forward', attempt: 1 } as const;

function metricsOf(options: Partial<SagaMetricsOptions> = {}) {
  const registry = new Registry();
  const logger = recordingLogger();
  const resolver = { resolve: (id: string) => (id === 'order' ? order : undefined) };
  const metrics = new SagaMetrics({ registry, cell: 'shop', resolver, logger, wallClock: () => 0, ...options });
  return { registry, metrics, logger };
}

async function lines(registry: Registry, name: string): Promise<readonly string[]> {
  const text = await registry.getSingleMetricAsString(name);
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

describe('the metrics of a runtime', () => {
  it('C22: count looks, drives and skips by what they came to', async () => {
    const { registry, metrics } = metricsOf();
    const { observer } = metrics;
    observer.tick({ result: 'claimed', claimed: 3, durationMs: 2 });
    observer.tick({ result: 'empty', claimed: 0, durationMs: 1 });
    observer.tick({ result: 'error', claimed: 0, durationMs: 1 });
    observer.drive({ runId: 'r', sagaId: 'order', result: 'ok', steps: 3, durationMs: 5 });
    observer.leaderSkip({ runId: 'r', sagaId: 'order', reason: 'contended' });
    expect(await lines(registry, 'saga_tick_total')).toEqual([
      'saga_tick_total{cell="shop",result="claimed"} 1',
      'saga_tick_total{cell="shop",result="empty"} 1',
      'saga_tick_total{cell="shop",result="error"} 1',
    ]);
    expect(await lines(registry, 'saga_drive_total')).toEqual([
      'saga_drive_total{cell="shop",definition_id="order",result="ok"} 1',
    ]);
    expect(await lines(registry, 'saga_leader_elect_skip_total')).toEqual([
      'saga_leader_elect_skip_total{cell="shop",definition_id="order",reason="contended"} 1',
    ]);
    expect(await lines(registry, 'saga_claim_latency_seconds')).toContain(
      'saga_claim_latency_seconds_count{cell="shop"} 1',
    );
  });

  it('count attempts of steps and of undos apart, with their time', async () => {
    const { registry, metrics } = metricsOf();
    metrics.observer.outcome({ ...facts, outcome: 'succeeded', durationMs: 20 });
    metrics.observer.outcome({ ...facts, kind: 'compensate', outcome: 'failed', durationMs: 20 });
    metrics.observer.retry({ ...facts, backoffMs: 100, code: 'X' });
    metrics.observer.heartbeatFailure({ ...facts, reason: 'infra_error' });
    expect(await lines(registry, 'saga_step_outcome_total')).toEqual([
      'saga_step_outcome_total{cell="shop",definition_id="order",outcome="succeeded"} 1',
    ]);
    expect(await lines(registry, 'saga_compensation_outcome_total')).toEqual([
      'saga_compensation_outcome_total{cell="shop",definition_id="order",outcome="failed"} 1',
    ]);
    expect(await lines(registry, 'saga_step_retry_total')).toEqual([
      'saga_step_retry_total{cell="shop",definition_id="order",step_name="charge"} 1',
    ]);
    expect(await lines(registry, 'saga_heartbeat_failed_total')).toEqual([
      'saga_heartbeat_failed_total{cell="shop",reason="infra_error"} 1',
    ]);
    expect(await lines(registry, 'saga_step_duration_seconds')).toContain(
      'saga_step_duration_seconds_bucket{le="0.025",cell="shop",definition_id="order",kind="compensate"} 1',
    );
  });

  it('C22: tell sagas that are not registered as one: labels stay a bounded set', async () => {
    const { registry, metrics } = metricsOf();
    for (let n = 0; n < 1_000; n += 1) {
      const sagaId = `made-up-${n}`;
      metrics.observer.drive({ runId: 'r', sagaId, result: 'error', steps: 0, durationMs: 1 });
      metrics.observer.retry({ ...facts, sagaId, step: `step-${n}`, backoffMs: null, code: 'X' });
    }
    expect(await lines(registry, 'saga_drive_total')).toEqual([
      'saga_drive_total{cell="shop",definition_id="_unregistered",result="error"} 1000',
    ]);
    expect(await lines(registry, 'saga_step_retry_total')).toHaveLength(1);
  });

  it('W18: tell how long runs took, by how they ended', async () => {
    const { registry, metrics } = metricsOf({ wallClock: () => 0x018e_0000_0000 + 4_000 });
    const run = { namespace: 'default', runId: '018e0000-0000-7000-8000-000000000000', definitionId: 'order' };
    metrics.hooks.onRunEnded?.({ ...run, definitionVersion: 1, status: 'COMPENSATED', epoch: 1, code: null });
    const shown = await lines(registry, 'saga_duration_seconds');
    expect(shown).toContain('saga_duration_seconds_sum{cell="shop",definition_id="order",status="compensated"} 4');
  });

  it('W18: show the backlog, its age, active runs and orphans, with one read for each scrape', async () => {
    let reads = 0;
    const { registry } = metricsOf({
      readOrphans: () => 2,
      readBacklog: () => {
        reads += 1;
        const activeRuns = { running: 7, compensating: 1 };
        return Promise.resolve({ activeRuns, claimableSteps: 4, oldestClaimableMs: 1_500 });
      },
    });
    const text = await registry.metrics();
    for (const line of [
      'saga_runs_active{cell="shop",status="running"} 7',
      'saga_runs_active{cell="shop",status="compensating"} 1',
      'saga_backlog_steps{cell="shop"} 4',
      'saga_oldest_claimable_seconds{cell="shop"} 1.5',
      'saga_orphan_steps{cell="shop"} 2',
    ]) {
      expect(text).toContain(line);
    }
    expect(reads).toBe(1);
  });

  it('W18: leave out what cannot be read, and the rest of the scrape is there', async () => {
    const { registry, logger } = metricsOf({ readBacklog: () => Promise.reject(new Error('away')) });
    const text = await registry.metrics();
    expect(text).not.toMatch(/^saga_backlog_steps\{/m);
    expect(text).toMatch(/^saga_orphan_steps\{cell="shop"\} 0$/m);
    expect(logger.lines).toMatchObject([{ level: 'warn' }]);
  });

  it('are registered all or none', () => {
    const registry = new Registry();
    new Counter({ name: 'saga_tick_total', help: 'somebody else’s', registers: [registry] });
    expect(() => metricsOf({ registry })).toThrow(expect.objectContaining({ code: 'METRICS_TAKEN' }) as Error);
    expect(registry.getMetricsAsArray()).toHaveLength(1);
    expect(() => metricsOf({ cell: '' })).toThrow(expect.objectContaining({ code: 'CELL_MISSING' }) as Error);
  });

  it('E16, C22: have names and label values that never change', () => {
    const frozen = SAGA_METRICS.map(({ name, labels }) => [
      name,
      ...labels.map(({ label, values }) => (values === null ? label : `${label}=${values.join('|')}`)),
    ]);
    expect(frozen).toEqual([
      ['saga_step_outcome_total', 'cell', 'definition_id', 'outcome=succeeded|failed|expired|canceled|lease_lost'],
      [
        'saga_compensation_outcome_total',
        'cell',
        'definition_id',
        'outcome=succeeded|failed|expired|canceled|lease_lost',
      ],
      ['saga_step_retry_total', 'cell', 'definition_id', 'step_name'],
      ['saga_heartbeat_failed_total', 'cell', 'reason=infra_error|stale_lease'],
      ['saga_tick_total', 'cell', 'result=claimed|empty|error'],
      ['saga_drive_total', 'cell', 'definition_id', 'result=ok|error'],
      ['saga_leader_elect_skip_total', 'cell', 'definition_id', 'reason=contended|ctx_canceled|backend_error'],
      ['saga_step_duration_seconds', 'cell', 'definition_id', 'kind=forward|compensate'],
      [
        'saga_duration_seconds',
        'cell',
        'definition_id',
        'status=succeeded|failed|compensated|expired|compensation_failed|cancelled',
      ],
      ['saga_claim_latency_seconds', 'cell'],
      ['saga_runs_active', 'cell', 'status=running|compensating'],
      ['saga_backlog_steps', 'cell'],
      ['saga_oldest_claimable_seconds', 'cell'],
      ['saga_orphan_steps', 'cell'],
    ]);
  });

  it('are told by their reference page as they are (write it anew with BATON_WRITE_PAGES=1)', () => {
    if (process.env['BATON_WRITE_PAGES'] === '1') writeFileSync(PAGE, metricsPage());
    expect(readFileSync(PAGE, 'utf8')).toBe(metricsPage());
  });
});
