import type { EngineHooks } from '@baton/engine';
import { Counter, Gauge, Histogram, type Metric, type Registry } from 'prom-client';
import type { SagaResolver } from '../definition/saga.js';
import { SagaError } from '../journal/errors.js';
import type { SagaLogger, SagaObserver } from './observer.js';
import { SAGA_METRICS, type LabelsOf, type SagaMetricName } from './metric-catalogue.js';
import { sagaStatusOfEnd, UNREGISTERED } from './label-values.js';

/** What waits in the database, of the sagas that this process knows. */
export interface SagaBacklog {
  /** Runs that have not ended, by status; each count stops at a bound of the source. */
  readonly activeRuns: { readonly running: number; readonly compensating: number };
  /** Steps that a claim would find now. */
  readonly claimableSteps: number;
  /** How long the oldest of them has been waiting; null = there is none. */
  readonly oldestClaimableMs: number | null;
}

export interface SagaMetricsOptions {
  readonly registry: Registry;
  /** Which part of a larger system this is; a label of every metric. */
  readonly cell: string;
  /** Ids of definitions that it does not know are told as `_unregistered`: labels stay a bounded set. */
  readonly resolver: Pick<SagaResolver, 'resolve'>;
  readonly logger: SagaLogger;
  /** Wall clock, ms since 1970: the duration of a run is counted from its id. */
  readonly wallClock: () => number;
  /** Asked at each scrape. */
  readonly readBacklog?: () => Promise<SagaBacklog>;
  /** Steps whose slot was given up and that still run (`StepExecutor.orphans`). Asked at each scrape. */
  readonly readOrphans?: () => number;
}

/**
 * The metrics of a runtime: an observer for what happens in it, hooks of the engine for what its commits do, and gauges
 * for what waits. Registered all or none. Never a run id, a lease id or a text as a label.
 */
export class SagaMetrics {
  /** Give it to the runtime. */
  readonly observer: Required<SagaObserver>;
  /** Give them to the engine. */
  readonly hooks: Pick<EngineHooks, 'onRunEnded'>;
  private readonly metrics = new Map<SagaMetricName, Metric>();

  constructor(private readonly options: SagaMetricsOptions) {
    if (typeof options.cell !== 'string' || options.cell === '') {
      throw new SagaError('invalid', 'CELL_MISSING', 'metrics need a cell: the part of the system that they are of');
    }
    for (const { name } of SAGA_METRICS) this.metrics.set(name, this.create(name));
    this.register();
    this.observer = this.makeObserver();
    this.hooks = {
      onRunEnded: (run) => {
        const status = sagaStatusOfEnd(run.status);
        const seconds = Math.max(0, this.options.wallClock() - startOf(run.runId)) / 1_000;
        this.observe('saga_duration_seconds', { ...this.of(run.definitionId), status }, seconds);
      },
    };
  }

  private makeObserver(): Required<SagaObserver> {
    return {
      outcome: ({ sagaId, kind, outcome, durationMs }) => {
        const counter = kind === 'forward' ? 'saga_step_outcome_total' : 'saga_compensation_outcome_total';
        this.count(counter, { ...this.of(sagaId), outcome });
        this.observe('saga_step_duration_seconds', { ...this.of(sagaId), kind }, durationMs / 1_000);
      },
      retry: ({ sagaId, step }) => {
        const { cell, definition_id } = this.of(sagaId);
        // A step of an unknown saga is as unbounded as its id.
        const step_name = definition_id === UNREGISTERED ? UNREGISTERED : step;
        this.count('saga_step_retry_total', { cell, definition_id, step_name });
      },
      heartbeatFailure: ({ reason }) => this.count('saga_heartbeat_failed_total', { cell: this.options.cell, reason }),
      tick: ({ result, durationMs }) => {
        const { cell } = this.options;
        this.count('saga_tick_total', { cell, result });
        if (result === 'claimed') this.observe('saga_claim_latency_seconds', { cell }, durationMs / 1_000);
      },
      drive: ({ sagaId, result }) => this.count('saga_drive_total', { ...this.of(sagaId), result }),
      leaderSkip: ({ sagaId, reason }) => this.count('saga_leader_elect_skip_total', { ...this.of(sagaId), reason }),
    };
  }

  private of(sagaId: string): { readonly cell: string; readonly definition_id: string } {
    const isKnown = this.options.resolver.resolve(sagaId) !== undefined;
    return { cell: this.options.cell, definition_id: isKnown ? sagaId : UNREGISTERED };
  }

  private count<N extends SagaMetricName>(name: N, labels: LabelsOf<N>): void {
    (this.metrics.get(name) as Counter).inc(labels);
  }

  private observe<N extends SagaMetricName>(name: N, labels: LabelsOf<N>, seconds: number): void {
    (this.metrics.get(name) as Histogram).observe(labels, seconds);
  }

  private create(name: SagaMetricName): Metric {
    const found = SAGA_METRICS.find((metric) => metric.name === name);
    if (found === undefined) throw new Error(`no metric ${name}`);
    const common = { name, help: found.help, labelNames: found.labels.map(({ label }) => label), registers: [] };
    switch (found.type) {
      case 'counter':
        return new Counter(common);
      case 'histogram':
        return new Histogram({ ...common, buckets: [...found.buckets] });
      case 'gauge':
        return new Gauge({ ...common, collect: this.collectorOf(name) });
    }
  }

  /** One read of the backlog serves all gauges of a scrape: prom-client collects them at the same time. */
  private collectorOf(name: SagaMetricName): (this: Gauge) => Promise<void> {
    const { cell, readOrphans } = this.options;
    const backlog = () => this.backlog();
    return async function (this: Gauge) {
      this.reset();
      if (name === 'saga_orphan_steps') return this.set({ cell }, readOrphans?.() ?? 0);
      const now = await backlog();
      if (now === null) return;
      if (name === 'saga_backlog_steps') this.set({ cell }, now.claimableSteps);
      if (name === 'saga_oldest_claimable_seconds') this.set({ cell }, (now.oldestClaimableMs ?? 0) / 1_000);
      if (name !== 'saga_runs_active') return;
      for (const [status, count] of Object.entries(now.activeRuns)) this.set({ cell, status }, count);
    };
  }

  private reading: Promise<SagaBacklog | null> | undefined;

  /** null = it could not be read: then the gauges are absent, which alerts can see. */
  private backlog(): Promise<SagaBacklog | null> {
    const { readBacklog, logger } = this.options;
    if (readBacklog === undefined) return Promise.resolve(null);
    this.reading ??= readBacklog()
      .catch((error: unknown) => {
        logger.warn({ err: error }, 'the backlog of sagas could not be read');
        return null;
      })
      .finally(() => (this.reading = undefined));
    return this.reading;
  }

  /** All or none: a name that is taken leaves nothing behind. */
  private register(): void {
    const { registry } = this.options;
    const taken = [...this.metrics.keys()].filter((name) => registry.getSingleMetric(name) !== undefined);
    if (taken.length > 0) {
      throw new SagaError('conflict', 'METRICS_TAKEN', `the registry has these metrics already: ${taken.join(', ')}`);
    }
    for (const metric of this.metrics.values()) registry.registerMetric(metric);
  }
}

/** A run's id is a UUIDv7: its first 48 bits are the instant of its making. */
function startOf(runId: string): number {
  return Number.parseInt(runId.replace('-', '').slice(0, 12), 16);
}
