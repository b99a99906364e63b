/**
 * Statuses and event kinds by the names of the journal contract. Labels are stored in metrics, logs and events, so
 * they never change.
 */

/** `pending` is a view: the run exists and nothing of it has been leased yet. */
export type SagaStatus =
  | 'pending'
  | 'running'
  | 'compensating'
  | 'succeeded'
  | 'failed'
  | 'compensated'
  | 'expired'
  | 'compensation_failed'
  | 'cancelled';

export type TerminalSagaStatus = Exclude<SagaStatus, 'pending' | 'running' | 'compensating'>;

export type SagaEventKind =
  | 'step_started'
  | 'step_completed'
  | 'step_failed'
  | 'step_compensated'
  | 'compensation_started'
  | 'saga_succeeded'
  | 'saga_failed'
  | 'saga_compensated'
  | 'saga_expired'
  | 'step_compensation_failed'
  | 'saga_compensation_failed'
  | 'saga_cancelled';
