import type { JsonText, LeaseFacts, RunState, TaskState, TimerKind } from '@baton/core';
import type { NewLease, TaskWrite } from '../ports.js';

/** Rows as the schema has them. Instants are milliseconds of the store's own clock. */
export interface RunRow {
  state: RunState;
  lastCommit: string;
  readonly startedAt: number;
  endedAt: number | null;
  stuckReason: string | null;
  input: JsonText | null;
  output: JsonText | null;
  readonly traceparent: string | null;
  readonly businessKey: string | null;
  readonly requestHash: string;
}

export interface TaskRow {
  state: TaskState;
  queue: string | null;
  handler: string | null;
  input: JsonText | null;
  output: JsonText | null;
  readonly createdAt: number;
  dispatchedAt: number | null;
  scheduleToStartAt: number | null;
  redispatchAt: number | null;
  scheduleToCloseAt: number | null;
  backoffUntil: number | null;
  cutOffUntil: number | null;
  settledAt: number | null;
  wakeAt: number | null;
  wakeFailures: number;
  startToCloseMs: number;
  heartbeatMs: number;
  lease: LeaseRow | null;
  progress: JsonText | null;
}

export interface LeaseRow {
  readonly leaseId: string;
  readonly owner: string;
  readonly callId: string;
  expiresAt: number;
  readonly startToCloseAt: number;
}

export interface SignalRow {
  readonly signalId: string;
  readonly name: string;
  readonly payload: JsonText;
  readonly payloadHash: string;
  status: 'BUFFERED' | 'CONSUMED';
  readonly seq: number;
  readonly receivedAt: number;
  readonly expiresAt: number | null;
  consumedBy: string | null;
}

export interface StoredTimer {
  readonly timerId: string;
  readonly runId: string;
  readonly namespace: string;
  readonly kind: TimerKind;
  readonly nodeId: string | null;
  readonly generation: number;
  dueAt: number;
  failures: number;
}

export function newTaskRow(write: TaskWrite, now: number): TaskRow {
  return {
    state: write.state,
    queue: null,
    handler: null,
    input: null,
    output: null,
    createdAt: now,
    dispatchedAt: null,
    scheduleToStartAt: null,
    redispatchAt: null,
    scheduleToCloseAt: null,
    backoffUntil: null,
    cutOffUntil: null,
    settledAt: null,
    wakeAt: null,
    wakeFailures: 0,
    startToCloseMs: 0,
    heartbeatMs: 0,
    lease: null,
    progress: null,
  };
}

export function applyTaskWrite(row: TaskRow, write: TaskWrite, now: number): void {
  row.state = write.state;
  row.queue = write.queue ?? row.queue;
  row.handler = write.handler ?? row.handler;
  if (write.input !== undefined) row.input = write.input;
  if (write.output !== undefined) row.output = write.output;
  applyWake(row, write.wake, now);
  if (write.wake.kind !== 'keep') row.wakeFailures = 0;
}

function applyWake(row: TaskRow, wake: TaskWrite['wake'], now: number): void {
  switch (wake.kind) {
    case 'dispatch':
      return applyDispatch(row, wake.deadlines, wake.lease, now);
    case 'backoff':
      row.lease = null;
      row.backoffUntil = now + wake.ms;
      row.wakeAt = least(row.backoffUntil, row.scheduleToCloseAt);
      return;
    case 'close':
      row.lease = null;
      row.wakeAt = null;
      row.settledAt = now;
      return;
    case 'cut-off':
      row.cutOffUntil = now + wake.ms;
      row.wakeAt = least(row.lease?.expiresAt ?? null, row.cutOffUntil);
      return;
    case 'rearm':
      row.wakeAt = least(...ownInstants(row).filter((at) => at > now)) ?? now + 1;
      return;
    case 'idle':
      row.lease = null;
      row.wakeAt = null;
      row.settledAt = null;
      return;
    case 'keep':
      return;
  }
}

function applyDispatch(
  row: TaskRow,
  deadlines: Extract<TaskWrite['wake'], { kind: 'dispatch' }>['deadlines'],
  lease: NewLease | null,
  now: number,
): void {
  row.dispatchedAt = now;
  row.backoffUntil = null;
  row.startToCloseMs = deadlines.startToCloseMs;
  row.heartbeatMs = deadlines.heartbeatMs;
  row.scheduleToStartAt = deadlines.scheduleToStartMs === null ? null : now + deadlines.scheduleToStartMs;
  row.redispatchAt = deadlines.scheduleToStartMs === null ? now + deadlines.redispatchAfterMs : null;
  if (deadlines.restartScheduleToClose === true) row.scheduleToCloseAt = null;
  if (deadlines.scheduleToCloseMs !== null) row.scheduleToCloseAt ??= now + deadlines.scheduleToCloseMs;
  row.lease = null;
  if (lease !== null) {
    row.lease = {
      leaseId: lease.leaseId,
      owner: lease.owner,
      callId: '',
      expiresAt: now + Math.min(lease.ttlMs, row.heartbeatMs),
      startToCloseAt: now + row.startToCloseMs,
    };
  }
  row.wakeAt = least(...ownInstants(row));
}

/** The instants that can wake this row as it stands (R12). */
export function ownInstants(row: TaskRow): number[] {
  const instants: (number | null)[] = [row.scheduleToCloseAt];
  if (row.state.status === 'BACKOFF') instants.push(row.backoffUntil);
  else if (row.state.cutOff) instants.push(row.lease?.expiresAt ?? null, row.cutOffUntil);
  else if (row.lease === null) instants.push(row.scheduleToStartAt, row.redispatchAt);
  else instants.push(row.lease.expiresAt, row.lease.startToCloseAt);
  return instants.filter((at): at is number => at !== null);
}

export function least(...instants: readonly (number | null)[]): number | null {
  const known = instants.filter((at): at is number => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}

export function factsOf(row: TaskRow, now: number): LeaseFacts {
  const { lease } = row;
  const passed = (at: number | null | undefined): boolean => at != null && at <= now;
  return {
    leaseId: lease?.leaseId ?? null,
    leaseOwner: lease?.owner ?? null,
    leaseExpired: passed(lease?.expiresAt),
    startToClosePassed: passed(lease?.startToCloseAt),
    scheduleToStartPassed: lease === null && passed(row.scheduleToStartAt),
    scheduleToClosePassed: passed(row.scheduleToCloseAt),
    redispatchDue: lease === null && passed(row.redispatchAt),
    backoffOver: row.state.status === 'BACKOFF' && passed(row.backoffUntil),
    cutOffOver: row.state.cutOff && passed(row.cutOffUntil),
  };
}

/** R9: the write that ends an attempt by time repeats the lease and the instant. */
export function fenceHolds(row: TaskRow, write: TaskWrite, now: number): boolean {
  if (write.fence !== null && row.state.attempt !== write.fence.attempt) return false;
  if (row.state.generation !== write.state.generation) return false;
  if (write.leaseFence === null) return true;
  const { leaseId, passed } = write.leaseFence;
  const facts = factsOf(row, now);
  if (facts.leaseId !== leaseId) return false;
  switch (passed) {
    case null:
      return true;
    case 'lease':
      return facts.leaseExpired;
    case 'start-to-close':
      return facts.startToClosePassed;
    case 'schedule-to-close':
      return facts.scheduleToClosePassed;
    case 'cut-off':
      return facts.cutOffOver;
  }
}
