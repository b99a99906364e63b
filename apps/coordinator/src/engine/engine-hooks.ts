import type { EngineHooks } from '@baton/engine';
import type { Logger, Metrics } from '@baton/platform';

const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** After-commit hooks (I13): counts, and log lines of what people ask for. Never payloads. */
export function engineHooks(metrics: Metrics, logger: Logger): EngineHooks {
  const counters = createCounters(metrics);
  return {
    onCommit: ({ way, events, missed, durationMs }) => {
      counters.commits.inc({ way });
      counters.missed.inc(missed);
      counters.batchEvents.observe(events);
      counters.commitSeconds.observe({ way }, durationMs / 1000);
    },
    onStarted: ({ definitionId }) => counters.started.inc({ definition: definitionId }),
    onRunEnded: ({ namespace, runId, definitionId, status, code }) => {
      counters.ended.inc({ definition: definitionId, status });
      logger.info({ run_id: runId, namespace, definition: definitionId, status, code }, 'run ended');
    },
    onTaskDispatched: ({ kind }) => counters.dispatched.inc({ kind }),
    onTaskSettled: ({ kind, status }) => counters.settled.inc({ kind, status }),
    onTaskRetried: ({ runId, nodeId, kind, attempt, backoffMs, code }) => {
      counters.retried.inc({ kind });
      logger.info(
        { run_id: runId, node_id: nodeId, kind, attempt, backoff_ms: backoffMs, code },
        'task will be retried',
      );
    },
    onReport: ({ status, outcome }) => counters.reports.inc({ status, outcome }),
    onLeases: ({ call, answers }) => {
      for (const answer of answers) counters.leases.inc({ call, answer });
    },
    onStuck: ({ namespace, runId }, reason) => {
      counters.stuck.inc();
      logger.error({ run_id: runId, namespace, reason }, 'run is stuck: somebody must look');
    },
    onStoreError: ({ kind, error }) => {
      counters.storeErrors.inc({ kind });
      const level = kind === 'unavailable' ? 'error' : 'warn';
      logger[level]({ err: error, kind }, 'a statement failed');
    },
  };
}

function createCounters(metrics: Metrics) {
  return {
    commits: metrics.counter({ name: 'engine_commits_total', help: 'Committed batches', labels: ['way'] }),
    missed: metrics.counter({
      name: 'engine_missed_runs_total',
      help: 'Runs of a batch that had moved or were locked',
    }),
    batchEvents: metrics.histogram({
      name: 'engine_batch_events',
      help: 'Events in a committed batch',
      buckets: SIZES,
    }),
    commitSeconds: metrics.histogram({
      name: 'engine_commit_seconds',
      help: 'From the read of a batch to its commit',
      labels: ['way'],
      buckets: SECONDS,
    }),
    started: metrics.counter({ name: 'runs_started_total', help: 'Runs started', labels: ['definition'] }),
    ended: metrics.counter({ name: 'runs_ended_total', help: 'Runs ended', labels: ['definition', 'status'] }),
    dispatched: metrics.counter({ name: 'tasks_dispatched_total', help: 'Attempts dispatched', labels: ['kind'] }),
    settled: metrics.counter({ name: 'tasks_settled_total', help: 'Tasks settled', labels: ['kind', 'status'] }),
    retried: metrics.counter({ name: 'tasks_retried_total', help: 'Attempts that will be retried', labels: ['kind'] }),
    reports: metrics.counter({ name: 'reports_total', help: 'Reports of workers', labels: ['status', 'outcome'] }),
    leases: metrics.counter({ name: 'lease_calls_total', help: 'Acquires and heartbeats', labels: ['call', 'answer'] }),
    stuck: metrics.counter({ name: 'runs_flagged_stuck_total', help: 'Runs that were flagged stuck' }),
    storeErrors: metrics.counter({ name: 'store_errors_total', help: 'Failed statements', labels: ['kind'] }),
  };
}
