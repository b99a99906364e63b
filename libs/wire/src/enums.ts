import { internalV1, runV1, workerV1 } from '@baton/contracts';
import type { ReportOutcome, RunStatus, TaskStatus } from '@baton/core';
import { enumTable, type ProtoNames } from './enum-table.js';

/** As readers see a task: a leased SCHEDULED row is RUNNING. */
export type ShownTaskStatus = TaskStatus | 'RUNNING';
export type AcquireStatus = 'GRANTED' | 'HELD' | 'STALE' | 'NOT_YET' | 'RETRY';
export type HeartbeatStatus = 'OK' | 'LOST' | 'CANCELLED' | 'RETRY';
export type FireOutcome = 'APPLIED' | 'IGNORED' | 'FAILED';

const RunPb = runV1.RunStatus;
export const runStatus = enumTable({
  RUNNING: RunPb.RUN_STATUS_RUNNING,
  COMPENSATING: RunPb.RUN_STATUS_COMPENSATING,
  SUCCEEDED: RunPb.RUN_STATUS_SUCCEEDED,
  FAILED: RunPb.RUN_STATUS_FAILED,
  COMPENSATED: RunPb.RUN_STATUS_COMPENSATED,
  COMPENSATION_FAILED: RunPb.RUN_STATUS_COMPENSATION_FAILED,
  EXPIRED: RunPb.RUN_STATUS_EXPIRED,
  CANCELLED: RunPb.RUN_STATUS_CANCELLED,
} satisfies Record<RunStatus | ProtoNames<'RUN_STATUS_', typeof RunPb>, runV1.RunStatus>);

const TaskPb = runV1.TaskStatus;
export const taskStatus = enumTable({
  SCHEDULED: TaskPb.TASK_STATUS_SCHEDULED,
  RUNNING: TaskPb.TASK_STATUS_RUNNING,
  BACKOFF: TaskPb.TASK_STATUS_BACKOFF,
  WAITING: TaskPb.TASK_STATUS_WAITING,
  HELD: TaskPb.TASK_STATUS_HELD,
  PLANNED: TaskPb.TASK_STATUS_PLANNED,
  SUCCEEDED: TaskPb.TASK_STATUS_SUCCEEDED,
  FAILED: TaskPb.TASK_STATUS_FAILED,
  TIMED_OUT: TaskPb.TASK_STATUS_TIMED_OUT,
  SKIPPED: TaskPb.TASK_STATUS_SKIPPED,
  CANCELLED: TaskPb.TASK_STATUS_CANCELLED,
} satisfies Record<ShownTaskStatus | ProtoNames<'TASK_STATUS_', typeof TaskPb>, runV1.TaskStatus>);

const AcquirePb = workerV1.AcquireStatus;
export const acquireStatus = enumTable({
  GRANTED: AcquirePb.ACQUIRE_STATUS_GRANTED,
  HELD: AcquirePb.ACQUIRE_STATUS_HELD,
  STALE: AcquirePb.ACQUIRE_STATUS_STALE,
  NOT_YET: AcquirePb.ACQUIRE_STATUS_NOT_YET,
  RETRY: AcquirePb.ACQUIRE_STATUS_RETRY,
} satisfies Record<AcquireStatus | ProtoNames<'ACQUIRE_STATUS_', typeof AcquirePb>, workerV1.AcquireStatus>);

const HeartbeatPb = workerV1.HeartbeatStatus;
export const heartbeatStatus = enumTable({
  OK: HeartbeatPb.HEARTBEAT_STATUS_OK,
  LOST: HeartbeatPb.HEARTBEAT_STATUS_LOST,
  CANCELLED: HeartbeatPb.HEARTBEAT_STATUS_CANCELLED,
  RETRY: HeartbeatPb.HEARTBEAT_STATUS_RETRY,
} satisfies Record<HeartbeatStatus | ProtoNames<'HEARTBEAT_STATUS_', typeof HeartbeatPb>, workerV1.HeartbeatStatus>);

const ReportPb = workerV1.ReportOutcome;
export const reportOutcome = enumTable({
  APPLIED: ReportPb.REPORT_OUTCOME_APPLIED,
  APPLIED_CANCELLED: ReportPb.REPORT_OUTCOME_APPLIED_CANCELLED,
  DUPLICATE: ReportPb.REPORT_OUTCOME_DUPLICATE,
  CONFLICT: ReportPb.REPORT_OUTCOME_CONFLICT,
  STALE: ReportPb.REPORT_OUTCOME_STALE,
  NOT_FOUND: ReportPb.REPORT_OUTCOME_NOT_FOUND,
  REJECTED: ReportPb.REPORT_OUTCOME_REJECTED,
} satisfies Record<ReportOutcome | ProtoNames<'REPORT_OUTCOME_', typeof ReportPb>, workerV1.ReportOutcome>);

const FirePb = internalV1.FireOutcome;
export const fireOutcome = enumTable({
  APPLIED: FirePb.FIRE_OUTCOME_APPLIED,
  IGNORED: FirePb.FIRE_OUTCOME_IGNORED,
  FAILED: FirePb.FIRE_OUTCOME_FAILED,
} satisfies Record<FireOutcome | ProtoNames<'FIRE_OUTCOME_', typeof FirePb>, internalV1.FireOutcome>);
