import type { NewLease, RunWrite, TaskWrite } from '@baton/engine';
import { columns, isSettled, pushFailure, type Columns } from './columns.js';

const SHARED = [
  'ord',
  'runId',
  'taskId',
  'generation',
  'status',
  'attempt',
  'failures',
  'losses',
  'redispatches',
  'unknownOutcome',
  'cutOff',
  'reportHash',
  'settledSeq',
  'failureCode',
  'failureMessage',
  'failureNode',
  'queue',
  'handler',
  'input',
  'output',
  'settled',
  'startToCloseMs',
  'heartbeatMs',
  'scheduleToStartMs',
  'redispatchMs',
  'scheduleToCloseMs',
  'wakeMs',
  'leaseId',
  'leaseOwner',
  'leaseTtlMs',
] as const;

const INSERT = [...SHARED, 'namespace', 'nodeId', 'item', 'kind', 'dispatched', 'backoffMs'] as const;

const UPDATE = [
  ...SHARED,
  'n',
  'fenceAttempt',
  'fenceLeaseId',
  'fencePassed',
  'setInput',
  'setOutput',
  'wake',
  'endsAttempt',
  'restartsToClose',
] as const;

export type TaskInserts = Columns<(typeof INSERT)[number]>;
export type TaskUpdates = Columns<(typeof UPDATE)[number]>;

export function taskInserts(): TaskInserts {
  return columns(INSERT);
}

export function taskUpdates(): TaskUpdates {
  return columns(UPDATE);
}

export function pushTaskInsert(target: TaskInserts, ord: number, run: RunWrite, write: TaskWrite): void {
  pushShared(target, ord, run, write);
  const { state, wake } = write;
  target.namespace.push(run.namespace);
  target.nodeId.push(state.nodeId);
  target.item.push(state.item);
  target.kind.push(state.kind);
  target.dispatched.push(wake.kind === 'dispatch');
  target.backoffMs.push(wake.kind === 'backoff' ? Math.round(wake.ms) : null);
}

export function pushTaskUpdate(target: TaskUpdates, ord: number, run: RunWrite, write: TaskWrite): void {
  target.n.push(target.ord.length);
  pushShared(target, ord, run, write);
  target.fenceAttempt.push(write.fence?.attempt ?? null);
  target.fenceLeaseId.push(write.leaseFence?.leaseId ?? null);
  target.fencePassed.push(write.leaseFence === null ? null : (write.leaseFence.passed ?? 'seen'));
  target.setInput.push(write.input !== undefined);
  target.setOutput.push(write.output !== undefined);
  target.wake.push(write.wake.kind);
  target.endsAttempt.push(endsAttempt(write.wake));
  target.restartsToClose.push(write.wake.kind === 'dispatch' && write.wake.deadlines.restartScheduleToClose === true);
}

/** Does the row's lease end with this write (I9)? */
function endsAttempt(wake: TaskWrite['wake']): boolean {
  switch (wake.kind) {
    case 'dispatch':
    case 'backoff':
    case 'close':
    case 'idle':
      return true;
    case 'cut-off':
    case 'rearm':
    case 'keep':
      return false;
  }
}

function pushShared(target: Columns<(typeof SHARED)[number]>, ord: number, run: RunWrite, write: TaskWrite): void {
  const { state } = write;
  target.ord.push(ord);
  target.runId.push(run.runId);
  target.taskId.push(state.taskId);
  target.generation.push(state.generation);
  target.status.push(state.status);
  target.attempt.push(state.attempt);
  target.failures.push(state.failures);
  target.losses.push(state.losses);
  target.redispatches.push(state.redispatches);
  target.unknownOutcome.push(state.unknownOutcome);
  target.cutOff.push(state.cutOff);
  target.reportHash.push(state.reportHash);
  target.settledSeq.push(state.settledSeq);
  pushFailure(target, state.failure);
  target.queue.push(write.queue);
  target.handler.push(write.handler);
  target.input.push(write.input ?? null);
  target.output.push(write.output ?? null);
  target.settled.push(isSettled(state.status));
  pushWake(target, write.wake);
}

function pushWake(target: Columns<(typeof SHARED)[number]>, wake: TaskWrite['wake']): void {
  const deadlines = wake.kind === 'dispatch' ? wake.deadlines : null;
  const lease = wake.kind === 'dispatch' ? wake.lease : null;
  target.startToCloseMs.push(deadlines?.startToCloseMs ?? null);
  target.heartbeatMs.push(deadlines?.heartbeatMs ?? null);
  target.scheduleToStartMs.push(deadlines?.scheduleToStartMs ?? null);
  // With a scheduleToStart the attempt fails by then; the guard is for those without (R12).
  target.redispatchMs.push(deadlines?.scheduleToStartMs === null ? deadlines.redispatchAfterMs : null);
  target.scheduleToCloseMs.push(deadlines?.scheduleToCloseMs ?? null);
  target.wakeMs.push(wakeMs(wake, lease));
  target.leaseId.push(lease?.leaseId ?? null);
  target.leaseOwner.push(lease?.owner ?? null);
  target.leaseTtlMs.push(deadlines !== null && lease !== null ? leaseTtlMs(lease, deadlines.heartbeatMs) : null);
}

/** R12: the least of the durations that can wake the row, from now. An older schedule-to-close is added in SQL. */
export function wakeMs(wake: TaskWrite['wake'], lease: NewLease | null): number | null {
  switch (wake.kind) {
    case 'dispatch': {
      const { deadlines } = wake;
      const start =
        lease === null
          ? [deadlines.scheduleToStartMs ?? deadlines.redispatchAfterMs]
          : [leaseTtlMs(lease, deadlines.heartbeatMs), deadlines.startToCloseMs];
      return Math.min(...start, deadlines.scheduleToCloseMs ?? Infinity);
    }
    case 'backoff':
    case 'cut-off':
      return Math.round(wake.ms);
    case 'close':
    case 'idle':
    case 'rearm':
    case 'keep':
      return null;
  }
}

/** R14: min(asked or default, heartbeat timeout). */
export function leaseTtlMs(lease: NewLease, heartbeatMs: number): number {
  return lease.ttlMs > 0 ? Math.min(lease.ttlMs, heartbeatMs) : heartbeatMs;
}
