import type { Route, RunCause, RunStatus, TaskKind, TaskStatus, TimerKind, UndoResult } from '@baton/core';

/** Words of the CHECK constraints. The record stops the build when core gets one more. */
function words<T extends string>(record: Readonly<Record<T, true>>): ReadonlySet<T> {
  return new Set(Object.keys(record) as T[]);
}

export const RUN_STATUSES = words<RunStatus>({
  RUNNING: true,
  COMPENSATING: true,
  SUCCEEDED: true,
  FAILED: true,
  COMPENSATED: true,
  COMPENSATION_FAILED: true,
  EXPIRED: true,
  CANCELLED: true,
});

export const TASK_STATUSES = words<TaskStatus>({
  SCHEDULED: true,
  BACKOFF: true,
  WAITING: true,
  HELD: true,
  PLANNED: true,
  SUCCEEDED: true,
  FAILED: true,
  TIMED_OUT: true,
  SKIPPED: true,
  CANCELLED: true,
});

export const SHOWN_TASK_STATUSES: ReadonlySet<TaskStatus | 'RUNNING'> = new Set([...TASK_STATUSES, 'RUNNING' as const]);

export const TASK_KINDS = words<TaskKind>({ forward: true, compensate: true });
export const RUN_CAUSES = words<RunCause>({ failure: true, cancel: true, deadline: true });
export const UNDO_RESULTS = words<UndoResult>({ NONE: true, CLEAN: true, FAILED: true });
export const ROUTES = words<Route>({ kafka: true, local: true });
export const TIMER_KINDS = words<TimerKind>({
  'wait-timeout': true,
  'run-deadline': true,
  'compensation-timeout': true,
});
export const ACQUIRE_ANSWERS = words<'GRANTED' | 'HELD' | 'STALE' | 'NOT_YET' | 'RETRY'>({
  GRANTED: true,
  HELD: true,
  STALE: true,
  NOT_YET: true,
  RETRY: true,
});
export const HEARTBEAT_ANSWERS = words<'OK' | 'LOST' | 'CANCELLED' | 'RETRY'>({
  OK: true,
  LOST: true,
  CANCELLED: true,
  RETRY: true,
});
