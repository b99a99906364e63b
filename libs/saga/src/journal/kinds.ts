import type { JournalKind, RunStatus, TaskKind } from '@baton/core';
import { SagaError } from './errors.js';
import type { SagaEventKind, SagaStatus, TerminalSagaStatus } from './status.js';

/** Every label once; a new one does not compile until it is here. */
const STATUSES: Readonly<Record<SagaStatus, 'open' | 'terminal'>> = {
  pending: 'open',
  running: 'open',
  compensating: 'open',
  succeeded: 'terminal',
  failed: 'terminal',
  compensated: 'terminal',
  expired: 'terminal',
  compensation_failed: 'terminal',
  cancelled: 'terminal',
};

/** What a kind tells of: a step (then it names one), the run, or its end (then it is only ever written with the end). */
const KINDS: Readonly<Record<SagaEventKind, 'step' | 'run' | 'end'>> = {
  step_started: 'step',
  step_completed: 'step',
  step_failed: 'step',
  step_compensated: 'step',
  step_compensation_failed: 'step',
  compensation_started: 'run',
  saga_succeeded: 'end',
  saga_failed: 'end',
  saga_compensated: 'end',
  saga_expired: 'end',
  saga_compensation_failed: 'end',
  saga_cancelled: 'end',
};

export const sagaStatuses = Object.freeze(Object.keys(STATUSES)) as readonly SagaStatus[];
export const sagaEventKinds = Object.freeze(Object.keys(KINDS)) as readonly SagaEventKind[];

export function isTerminalSagaStatus(status: SagaStatus): status is TerminalSagaStatus {
  return STATUSES[status] === 'terminal';
}

/** Fails closed: a label that this build does not know is an error (INVALID), never a guess. */
export function parseSagaStatus(label: string): SagaStatus {
  if (Object.hasOwn(STATUSES, label)) return label as SagaStatus;
  throw new SagaError('invalid', 'STATUS_UNKNOWN', `there is no saga status ${JSON.stringify(label)}`);
}

/** As `parseSagaStatus`, of the kinds of events. */
export function parseSagaEventKind(label: string): SagaEventKind {
  if (Object.hasOwn(KINDS, label)) return label as SagaEventKind;
  throw new SagaError('invalid', 'KIND_UNKNOWN', `there is no kind of saga event ${JSON.stringify(label)}`);
}

export function subjectOf(kind: SagaEventKind): 'step' | 'run' | 'end' {
  return KINDS[kind];
}

/** The kind of the event that tells of an end. */
export function endKindOf(status: TerminalSagaStatus): SagaEventKind {
  return parseSagaEventKind(`saga_${status}`);
}

const OF_RUN: Readonly<Record<RunStatus, Exclude<SagaStatus, 'pending'>>> = {
  RUNNING: 'running',
  COMPENSATING: 'compensating',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  COMPENSATED: 'compensated',
  COMPENSATION_FAILED: 'compensation_failed',
  EXPIRED: 'expired',
  CANCELLED: 'cancelled',
};

/** What `statusOfRun` needs to know of a task. */
export interface SeenTask {
  readonly kind: TaskKind;
  readonly attempt: number;
  readonly status: string;
}

/**
 * The status of a saga by the row of its run. `pending` is a view: running, and none of its steps has been leased yet.
 * `tasks` as the queries of the engine give them, where a leased task is RUNNING; without them a run is never pending.
 */
export function statusOfRun(status: RunStatus, tasks?: readonly SeenTask[]): SagaStatus {
  if (!Object.hasOwn(OF_RUN, status)) throw shapeError(`a run has the status ${JSON.stringify(status)}`);
  const isPending = status === 'RUNNING' && tasks !== undefined && tasks.every(isUntouched);
  return isPending ? 'pending' : OF_RUN[status];
}

function isUntouched({ kind, attempt, status }: SeenTask): boolean {
  return kind === 'forward' && attempt <= 1 && (status === 'SCHEDULED' || status === 'WAITING' || status === 'SKIPPED');
}

/**
 * The engine's journal in the words of the contract. Kinds that the contract does not have keep their names: the journal
 * is whole (W14). A new kind of the engine does not compile until somebody has said here what it is.
 */
const OF_JOURNAL: Readonly<Record<JournalKind, SagaEventKind | null>> = {
  'node.succeeded': 'step_completed',
  'node.failed': 'step_failed',
  'node.timed_out': 'step_failed',
  'node.compensated': 'step_compensated',
  'node.compensation_failed': 'step_compensation_failed',
  'run.compensation_started': 'compensation_started',
  'run.succeeded': 'saga_succeeded',
  'run.failed': 'saga_failed',
  'run.compensated': 'saga_compensated',
  'run.compensation_failed': 'saga_compensation_failed',
  'run.expired': 'saga_expired',
  'run.cancelled': 'saga_cancelled',
  'run.started': null,
  'run.cancel_requested': null,
  'run.deadline_passed': null,
  'run.reopened': null,
  'task.scheduled': null,
  'task.redispatched': null,
  'task.retry_scheduled': null,
  'task.deferred': null,
  'task.released': null,
  'task.lease_lost': null,
  'task.cut_off': null,
  'node.waiting': null,
  'node.skipped': null,
  'node.cancelled': null,
  'undo.planned': null,
  'undo.dropped': null,
  'signal.received': null,
  'signal.consumed': null,
  'timer.fired': null,
};

/** null = the contract has no word for it. Fails closed (JOURNAL_SHAPE, internal) on what this build has never heard of. */
export function kindOfJournal(kind: string): SagaEventKind | null {
  if (!Object.hasOwn(OF_JOURNAL, kind)) throw shapeError(`the journal holds the kind ${JSON.stringify(kind)}`);
  return OF_JOURNAL[kind as JournalKind];
}

function shapeError(what: string): SagaError {
  return new SagaError(
    'internal',
    'JOURNAL_SHAPE',
    `${what}, which this build does not know: is it older than the rows?`,
  );
}
