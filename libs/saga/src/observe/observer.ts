import type { StepOutcome } from '../executor/types.js';

export interface StepFacts {
  readonly runId: string;
  readonly sagaId: string;
  readonly step: string;
  readonly kind: 'forward' | 'compensate';
  readonly attempt: number;
}

export type HeartbeatFailureReason = 'infra_error' | 'stale_lease';
export type TickResult = 'claimed' | 'empty' | 'error';
export type DriveResult = 'ok' | 'error';
export type LeaderSkipReason = 'contended' | 'ctx_canceled' | 'backend_error';

/**
 * What happens in a runtime, for metrics and tests. Called outside the hot path, at most once for each thing that
 * happened; an observer that throws or hangs is contained (`guardObserver`). Label values are frozen.
 */
export interface SagaObserver {
  /** Once for each attempt. */
  outcome?(step: StepFacts & { readonly outcome: StepOutcome; readonly durationMs: number }): unknown;
  /** An attempt failed and another one comes. */
  retry?(step: StepFacts & { readonly backoffMs: number | null; readonly code: string }): unknown;
  heartbeatFailure?(step: StepFacts & { readonly reason: HeartbeatFailureReason }): unknown;
  /** Once for each look for claimable steps. */
  tick?(tick: { readonly result: TickResult; readonly claimed: number; readonly durationMs: number }): unknown;
  /** Once for each drive: the steps that were run one after the other under one claim. */
  drive?(drive: {
    readonly runId: string;
    readonly sagaId: string;
    readonly result: DriveResult;
    readonly steps: number;
    readonly durationMs: number;
  }): unknown;
  leaderSkip?(skip: { readonly runId: string; readonly sagaId: string; readonly reason: LeaderSkipReason }): unknown;
}

/** Of logs: the message last, fields first, as pino has it. */
export interface SagaLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
