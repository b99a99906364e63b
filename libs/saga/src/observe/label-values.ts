import type { RunStatus } from '@baton/core';
import type { StepOutcome } from '../executor/types.js';
import type { TerminalSagaStatus } from '../journal/status.js';
import type { DriveResult, HeartbeatFailureReason, LeaderSkipReason, TickResult } from './observer.js';

/** Values of labels never change: dashboards and alerts hold them. Total over their types, both ways. */

export const UNREGISTERED = '_unregistered';

const setOf = <T extends string>(values: Readonly<Record<T, true>>): readonly T[] => Object.keys(values) as T[];

export const STEP_OUTCOMES = setOf<StepOutcome>({
  succeeded: true,
  failed: true,
  expired: true,
  canceled: true,
  lease_lost: true,
});
export const HEARTBEAT_FAILURES = setOf<HeartbeatFailureReason>({ infra_error: true, stale_lease: true });
export const TICK_RESULTS = setOf<TickResult>({ claimed: true, empty: true, error: true });
export const DRIVE_RESULTS = setOf<DriveResult>({ ok: true, error: true });
export const LEADER_SKIPS = setOf<LeaderSkipReason>({ contended: true, ctx_canceled: true, backend_error: true });
export const STEP_KINDS = ['forward', 'compensate'] as const;
export const ACTIVE_STATUSES = ['running', 'compensating'] as const;

const ENDS: Readonly<Record<Exclude<RunStatus, 'RUNNING' | 'COMPENSATING'>, TerminalSagaStatus>> = {
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  COMPENSATED: 'compensated',
  EXPIRED: 'expired',
  COMPENSATION_FAILED: 'compensation_failed',
  CANCELLED: 'cancelled',
};
export const END_STATUSES: readonly TerminalSagaStatus[] = Object.values(ENDS);

/** A hook of the engine tells only of ends; anything else is told as a failure, so that it is seen. */
export function sagaStatusOfEnd(status: RunStatus): TerminalSagaStatus {
  return status === 'RUNNING' || status === 'COMPENSATING' ? 'failed' : ENDS[status];
}
