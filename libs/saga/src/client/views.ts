import type { Failure, JsonText, RunStatus } from '@baton/core';
import type { JournalView, RunDetails, RunOutcome, RunView, TaskView } from '@baton/engine';
import { SagaError } from '../journal/errors.js';
import { isTerminalSagaStatus, kindOfJournal, statusOfRun } from '../journal/kinds.js';
import type { SagaEvent } from '../journal/ports.js';
import type { SagaStatus } from '../journal/status.js';
import type { SagaDetails, SagaFailure, SagaResult, SagaStepStatus, SagaStepView, SagaView } from './types.js';

/** What the engine answers, in the words of the library. */

export function viewOf(run: RunView, status: SagaStatus = statusOfRun(run.status)): SagaView {
  return {
    runId: run.runId,
    sagaId: run.definitionId,
    sagaVersion: run.definitionVersion,
    status,
    businessKey: run.businessKey,
    failure: failureOf(run.failure),
    epoch: run.epoch,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    stuckReason: run.stuckReason,
  };
}

export function detailsOf<O>(details: RunDetails, withPayloads: boolean): SagaDetails<O> {
  const { run, tasks, bufferedSignals } = details;
  const view: SagaDetails<O> = {
    ...viewOf(run, statusOfRun(run.status, tasks)),
    steps: tasks.map(stepOf),
    bufferedSignals,
  };
  if (!withPayloads) return view;
  const [input, output] = [valueOf(details.input), valueOf(details.output)];
  return { ...view, input, output, outputs: outputsOf(details) as Partial<O> };
}

/** undefined = it has not ended. */
export function resultOf<O>(details: RunOutcome): SagaResult<O> | undefined {
  const status = statusOfRun(details.run.status);
  if (!isTerminalSagaStatus(status)) return undefined;
  const { runId } = details.run;
  const outputs = outputsOf(details);
  if (status === 'succeeded') {
    return { runId, status, output: valueOf(details.output), outputs: outputs as O, failure: null };
  }
  const failure = failureOf(details.run.failure);
  return { runId, status, output: null, outputs: outputs as Partial<O>, failure };
}

export function eventOf({ seq, kind, nodeId, attempt, code, detail, at }: JournalView): SagaEvent {
  return { version: seq, kind: kindOfJournal(kind) ?? kind, step: nodeId, attempt, code, detail, at };
}

/** The statuses of the engine that a list of ours means. */
export function runStatusesOf(statuses: readonly SagaStatus[]): readonly RunStatus[] {
  const all = statuses.map((status): RunStatus => (status === 'pending' ? 'RUNNING' : RUN_STATUSES[status]));
  return [...new Set(all)];
}

const RUN_STATUSES: Readonly<Record<Exclude<SagaStatus, 'pending'>, RunStatus>> = {
  running: 'RUNNING',
  compensating: 'COMPENSATING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  compensated: 'COMPENSATED',
  compensation_failed: 'COMPENSATION_FAILED',
  expired: 'EXPIRED',
  cancelled: 'CANCELLED',
};

function stepOf(task: TaskView): SagaStepView {
  return {
    step: task.nodeId,
    kind: task.kind,
    status: STEP_STATUSES[task.status],
    attempt: task.attempt,
    failures: task.failures,
    unknownOutcome: task.unknownOutcome,
    failure: failureOf(task.failure),
    createdAt: task.createdAt,
    settledAt: task.settledAt,
  };
}

const STEP_STATUSES: Readonly<Record<TaskView['status'], SagaStepStatus>> = {
  SCHEDULED: 'scheduled',
  RUNNING: 'running',
  BACKOFF: 'backoff',
  WAITING: 'waiting',
  HELD: 'held',
  PLANNED: 'planned',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  TIMED_OUT: 'timed_out',
  SKIPPED: 'skipped',
  CANCELLED: 'cancelled',
};

/** Of the newest generation of each step that succeeded. */
function outputsOf({ tasks, payloadsLeftOut }: RunOutcome): Record<string, unknown> {
  if (payloadsLeftOut === true) {
    throw new SagaError('internal', 'OUTPUTS_TOO_LARGE', 'the payloads of this run are more than 32 MiB together');
  }
  const done = tasks.filter(({ kind, status }) => kind === 'forward' && status === 'SUCCEEDED');
  const newest = done.toSorted((a, b) => a.generation - b.generation);
  return Object.fromEntries(newest.map(({ nodeId, output }) => [nodeId, valueOf(output)]));
}

function failureOf(failure: Failure | null): SagaFailure | null {
  if (failure === null) return null;
  const { code, message, nodeId } = failure;
  return { code, message, ...(nodeId !== undefined && { step: nodeId }) };
}

function valueOf(text: JsonText | null | undefined): unknown {
  return text === null || text === undefined ? null : (JSON.parse(text) as unknown);
}
