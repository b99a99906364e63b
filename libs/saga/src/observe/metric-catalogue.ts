import {
  ACTIVE_STATUSES,
  DRIVE_RESULTS,
  END_STATUSES,
  HEARTBEAT_FAILURES,
  LEADER_SKIPS,
  STEP_KINDS,
  STEP_OUTCOMES,
  TICK_RESULTS,
} from './label-values.js';

export interface MetricLabel {
  readonly label: string;
  /** null = as many as there are sagas, steps or cells. */
  readonly values: readonly string[] | null;
}

const cell: MetricLabel = { label: 'cell', values: null };
const definition: MetricLabel = { label: 'definition_id', values: null };
const label = <N extends string>(name: N, values: readonly string[] | null) => ({ label: name, values }) as const;

/** From a millisecond to an hour: a step may be a row in a table or a call to a warehouse. */
const STEP_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600, 3_600] as const;
/** Sagas wait for people and for other systems: up to a week. */
const SAGA_BUCKETS = [0.01, 0.05, 0.25, 1, 5, 30, 120, 600, 3_600, 21_600, 86_400, 604_800] as const;
const CLAIM_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5] as const;

/** Every metric of the library, in the order of its reference page (docs/reference/saga-metrics.md). */
export const SAGA_METRICS = [
  {
    name: 'saga_step_outcome_total',
    type: 'counter',
    help: 'Attempts of steps that ended, by how.',
    labels: [cell, definition, label('outcome', STEP_OUTCOMES)],
  },
  {
    name: 'saga_compensation_outcome_total',
    type: 'counter',
    help: 'Attempts of undos that ended, by how.',
    labels: [cell, definition, label('outcome', STEP_OUTCOMES)],
  },
  {
    name: 'saga_step_retry_total',
    type: 'counter',
    help: 'Attempts that failed and are followed by another one.',
    labels: [cell, definition, label('step_name', null)],
  },
  {
    name: 'saga_heartbeat_failed_total',
    type: 'counter',
    help: 'Heartbeats that renewed nothing: nobody could say, or the lease was lost.',
    labels: [cell, label('reason', HEARTBEAT_FAILURES)],
  },
  {
    name: 'saga_tick_total',
    type: 'counter',
    help: 'Looks for claimable steps, by what they found.',
    labels: [cell, label('result', TICK_RESULTS)],
  },
  {
    name: 'saga_drive_total',
    type: 'counter',
    help: 'Drives: steps of a run that were run one after the other under one claim.',
    labels: [cell, definition, label('result', DRIVE_RESULTS)],
  },
  {
    name: 'saga_leader_elect_skip_total',
    type: 'counter',
    help: 'Runs that were left to others because their lock was not to be had.',
    labels: [cell, definition, label('reason', LEADER_SKIPS)],
  },
  {
    name: 'saga_step_duration_seconds',
    type: 'histogram',
    help: 'Time of an attempt, from its begin to its result.',
    labels: [cell, definition, label('kind', STEP_KINDS)],
    buckets: STEP_BUCKETS,
  },
  {
    name: 'saga_duration_seconds',
    type: 'histogram',
    help: 'Time of a run, from the making of its id to its end, by how it ended.',
    labels: [cell, definition, label('status', END_STATUSES)],
    buckets: SAGA_BUCKETS,
  },
  {
    name: 'saga_claim_latency_seconds',
    type: 'histogram',
    help: 'Time of a claim that brought steps.',
    labels: [cell],
    buckets: CLAIM_BUCKETS,
  },
  {
    name: 'saga_runs_active',
    type: 'gauge',
    help: 'Runs that have not ended, by status; counted up to 100,000 each.',
    labels: [cell, label('status', ACTIVE_STATUSES)],
  },
  {
    name: 'saga_backlog_steps',
    type: 'gauge',
    help: 'Steps that wait for a free slot; counted up to 100,000.',
    labels: [cell],
  },
  {
    name: 'saga_oldest_claimable_seconds',
    type: 'gauge',
    help: 'How long the oldest of them has been waiting; 0 = none waits.',
    labels: [cell],
  },
  {
    name: 'saga_orphan_steps',
    type: 'gauge',
    help: 'Steps that did not react to their abort, lost their slot and still run.',
    labels: [cell],
  },
] as const;

type Row = (typeof SAGA_METRICS)[number];
export type SagaMetricName = Row['name'];
/** Labels by name; which values are known is the catalogue's to say. */
export type LabelsOf<N extends SagaMetricName> = Readonly<
  Record<Extract<Row, { name: N }>['labels'][number]['label'], string>
>;
