import type { ReportOutcome } from '../run/decide-types.js';
import type { RunEvent } from '../run/events.js';
import type { RunStatus, TaskKind, TaskStatus } from '../run/state.js';

/**
 * What the state machine can do, written down: for each event and each status of the run that it may find, which
 * effects there are (A = applied, I = ignored, R = refused). Coverage that reaches less has not seen the machine;
 * an effect that is not here is a change of the machine, and the table of the README changes with it.
 */
export type Effects = string;

export const RUN_STATUSES = [
  'RUNNING',
  'COMPENSATING',
  'SUCCEEDED',
  'FAILED',
  'COMPENSATED',
  'COMPENSATION_FAILED',
  'EXPIRED',
  'CANCELLED',
] as const satisfies readonly RunStatus[];

type ByStatus = Readonly<Record<RunStatus, Effects>>;

const ended = (effects: Effects): Omit<ByStatus, 'RUNNING' | 'COMPENSATING'> => ({
  SUCCEEDED: effects,
  FAILED: effects,
  COMPENSATED: effects,
  COMPENSATION_FAILED: effects,
  EXPIRED: effects,
  CANCELLED: effects,
});

/** R14, I4: an ended run answers for what it knows, and takes nothing. */
const report: ByStatus = { RUNNING: 'AI', COMPENSATING: 'AI', ...ended('I') };

export const REACHABLE: Readonly<Record<RunEvent['type'], ByStatus>> = {
  RunStarted: { RUNNING: 'AI', COMPENSATING: 'I', ...ended('I') },
  NodeCompleted: report,
  NodeFailed: report,
  TaskReleased: report,
  TaskDeferred: report,
  TaskWoken: { RUNNING: 'AI', COMPENSATING: 'AI', ...ended('I') },
  // Known id: ignored, or refused where its content differs. R32: an ended run takes nothing new.
  SignalReceived: { RUNNING: 'AIR', COMPENSATING: 'AIR', ...ended('IR') },
  // Ignored: gone, early, or void (R21).
  TimerFired: { RUNNING: 'AI', COMPENSATING: 'AI', ...ended('I') },
  RunCancelled: { RUNNING: 'A', COMPENSATING: 'IR', ...ended('R'), CANCELLED: 'I' },
  // R16, R20.
  RunRetried: {
    RUNNING: 'R',
    COMPENSATING: 'R',
    SUCCEEDED: 'R',
    COMPENSATED: 'R',
    COMPENSATION_FAILED: 'R',
    FAILED: 'AR',
    EXPIRED: 'AR',
    CANCELLED: 'AR',
  },
  CompensateRun: { RUNNING: 'R', COMPENSATING: 'R', ...ended('R'), COMPENSATION_FAILED: 'A' },
};

export type TaskEventType = Extract<RunEvent, { readonly taskId: string }>['type'];

type RowOf<Kind extends TaskKind> = Kind extends 'forward' ? 'step' : 'undo';

export type TaskRowKind = 'step cut off' | `${RowOf<TaskKind>} ${TaskStatus}`;

/** The rows that there are: an undo never waits for a signal and is never skipped, a step is never PLANNED. */
export const TASK_ROWS = [
  'step SCHEDULED',
  'step cut off',
  'step BACKOFF',
  'step WAITING',
  'step SUCCEEDED',
  'step FAILED',
  'step TIMED_OUT',
  'step SKIPPED',
  'step CANCELLED',
  'undo PLANNED',
  'undo SCHEDULED',
  'undo BACKOFF',
  'undo SUCCEEDED',
  'undo FAILED',
  'undo TIMED_OUT',
  'undo CANCELLED',
] as const satisfies readonly TaskRowKind[];

type ByRow = Readonly<Partial<Record<TaskRowKind, Effects>>>;

const stale = Object.fromEntries(TASK_ROWS.map((row) => [row, 'I'])) as ByRow;

/** R14: an open attempt of the right number; another number is stale. */
const reportOn: ByRow = { ...stale, 'step SCHEDULED': 'AI', 'step cut off': 'AI', 'undo SCHEDULED': 'AI' };

export const REACHABLE_ON_TASKS: Readonly<Record<TaskEventType, ByRow>> = {
  NodeCompleted: reportOn,
  NodeFailed: reportOn,
  TaskReleased: reportOn,
  TaskDeferred: reportOn,
  // R12: decided on the facts of the row; too early = armed again, which is "ignored".
  TaskWoken: { ...reportOn, 'step BACKOFF': 'AI', 'undo BACKOFF': 'AI' },
};

/** All of R14. REJECTED is the engine's own answer (R8). */
export const REPORT_OUTCOMES = [
  'APPLIED',
  'APPLIED_CANCELLED',
  'DUPLICATE',
  'CONFLICT',
  'STALE',
  'NOT_FOUND',
] as const satisfies readonly ReportOutcome[];
