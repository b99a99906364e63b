import { isTerminal } from '@baton/core';
import type { ClaimableTask, ClaimTasks, LeasedTask } from '../api.js';
import { acquireOn } from './memory-leases.js';
import type { RunRow, TaskRow } from './memory-rows.js';

/** A task row with its run. */
export interface ClaimRow {
  readonly run: RunRow;
  readonly task: TaskRow;
}

type Wanted = Pick<ClaimTasks, 'namespace' | 'definitions' | 'limit'>;

/** Free tasks of these definitions, oldest dispatch first (R29). */
export function freeRows(rows: Iterable<ClaimRow>, { namespace, definitions, limit }: Wanted): readonly ClaimRow[] {
  const keys = new Set(definitions.map(({ id, version, queue }) => `${id}@${version} ${queue}`));
  return [...rows]
    .filter(({ run, task }) => run.state.namespace === namespace && task.lease === null && isOpen({ run, task }))
    .filter(({ run: { state }, task: { queue } }) =>
      keys.has(`${state.definitionId}@${state.definitionVersion} ${queue ?? ''}`),
    )
    .sort((a, b) => (a.task.dispatchedAt ?? 0) - (b.task.dispatchedAt ?? 0))
    .slice(0, limit);
}

/** What this very call was given before, and still holds (R10). */
export function sameCallRows(rows: Iterable<ClaimRow>, call: ClaimTasks, now: number): readonly ClaimRow[] {
  return [...rows]
    .filter(({ run, task }) => run.state.namespace === call.namespace && isOpen({ run, task }))
    .filter(
      ({ task: { lease } }) => lease?.owner === call.owner && lease.callId === call.callId && lease.expiresAt > now,
    )
    .sort((a, b) => (a.task.dispatchedAt ?? 0) - (b.task.dispatchedAt ?? 0))
    .slice(0, call.limit);
}

function isOpen({ run: { state }, task }: ClaimRow): boolean {
  const isWaiting = task.state.status === 'SCHEDULED' && !task.state.cutOff;
  return isWaiting && state.route === 'local' && !isTerminal(state.status);
}

export function grantOn(row: ClaimRow, call: ClaimTasks, now: number, leaseId: string): LeasedTask {
  const task = claimableOf(row);
  const { namespace, runId, taskId } = task;
  const { owner, callId, ttlMs } = call;
  const answer = acquireOn(row.task, { namespace, runId, taskId, owner, callId, ttlMs, wantInput: true }, now, leaseId);
  if (answer.status !== 'GRANTED') throw new Error(`a free row was answered ${answer.status}`);
  return {
    ...task,
    leaseId: answer.leaseId ?? '',
    ttlMs: answer.ttlMs ?? 0,
    startToCloseMs: answer.startToCloseMs ?? null,
    input: answer.input ?? 'null',
    ...(answer.progress === undefined ? {} : { progress: answer.progress }),
  };
}

export function claimableOf({ run, task }: ClaimRow): ClaimableTask {
  const { namespace, runId, definitionId, definitionVersion, epoch } = run.state;
  const { taskId, nodeId, item, kind, generation, attempt, failures } = task.state;
  return {
    ...{ namespace, runId, taskId, nodeId, item, kind, generation, attempt, failures },
    ...{ definitionId, definitionVersion, epoch, traceparent: run.traceparent },
    queue: task.queue ?? '',
    handler: task.handler ?? '',
  };
}
