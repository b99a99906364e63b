import type { JournalKind, RunStatus, TaskStatus } from '@baton/core';

/** What the kinds of journal rows mean for the rows of the run. Kinds that are not here say nothing about a status. */

const kinds = (...words: JournalKind[]): ReadonlySet<string> => new Set<string>(words);

export const DISPATCHES = kinds('task.scheduled', 'task.redispatched');

export const ENDS_OF_TASK = kinds(
  'node.skipped',
  'node.succeeded',
  'node.failed',
  'node.timed_out',
  'node.cancelled',
  'undo.dropped',
  'node.compensated',
  'node.compensation_failed',
);

export const ENDS_OF_RUN = kinds(
  'run.succeeded',
  'run.failed',
  'run.compensated',
  'run.compensation_failed',
  'run.expired',
  'run.cancelled',
);

/** The embedded runtime tells the same facts by names of its own: `saga.<definition>.<word>`. They never change. */
const SAGA_WORDS: ReadonlyMap<string, string> = new Map<JournalKind, string>([
  ['run.started', 'started'],
  ['run.reopened', 'reopened'],
  ['run.compensation_started', 'compensation_started'],
  ['run.succeeded', 'succeeded'],
  ['run.failed', 'failed'],
  ['run.compensated', 'compensated'],
  ['run.compensation_failed', 'compensation_failed'],
  ['run.expired', 'expired'],
  ['run.cancelled', 'cancelled'],
  ['node.succeeded', 'step_completed'],
  ['node.failed', 'step_failed'],
  ['node.timed_out', 'step_timed_out'],
  ['node.compensated', 'step_compensated'],
  ['node.compensation_failed', 'step_compensation_failed'],
]);

export function sagaTypeOf(definitionId: string, kind: string): string {
  return `saga.${definitionId}.${SAGA_WORDS.get(kind) ?? kind}`;
}

type Says<T> = ReadonlyMap<string, readonly T[]>;

function says<T>(record: Partial<Record<JournalKind, readonly T[]>>): Says<T> {
  return new Map(Object.entries(record));
}

/** The status of a task whose last journal row is this. */
export const TASK_STATUS_AFTER: Says<TaskStatus> = says({
  'task.scheduled': ['SCHEDULED'],
  'task.redispatched': ['SCHEDULED'],
  'task.cut_off': ['SCHEDULED'],
  'task.retry_scheduled': ['BACKOFF'],
  'task.deferred': ['BACKOFF'],
  'task.released': ['BACKOFF'],
  'task.lease_lost': ['BACKOFF'],
  'node.waiting': ['WAITING'],
  'node.skipped': ['SKIPPED'],
  'node.succeeded': ['SUCCEEDED'],
  'node.failed': ['FAILED'],
  'node.timed_out': ['TIMED_OUT'],
  'node.cancelled': ['CANCELLED'],
  'undo.planned': ['PLANNED'],
  'undo.dropped': ['CANCELLED'],
  'node.compensated': ['SUCCEEDED'],
  'node.compensation_failed': ['FAILED', 'TIMED_OUT'],
});

/** The status of a run whose last journal row about itself is this. */
export const RUN_STATUS_AFTER: Says<RunStatus> = says({
  'run.started': ['RUNNING'],
  'run.reopened': ['RUNNING', 'COMPENSATING'],
  'run.compensation_started': ['COMPENSATING'],
  'run.succeeded': ['SUCCEEDED'],
  'run.failed': ['FAILED'],
  'run.compensated': ['COMPENSATED'],
  'run.compensation_failed': ['COMPENSATION_FAILED'],
  'run.expired': ['EXPIRED'],
  'run.cancelled': ['CANCELLED'],
});
