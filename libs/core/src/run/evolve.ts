import { assertNever } from '../assert-never.js';
import type { Action, CreateTask } from './actions.js';
import { PUBLISHED_JOURNAL_KINDS } from './journal-kinds.js';
import type { RunState, TaskState } from './state.js';

/** The state that these actions lead to. `decide` builds its own result with the same function. */
export function evolve(state: RunState, actions: readonly Action[]): RunState {
  const draft = new RunDraft(state);
  for (const action of actions) draft.apply(action);
  return draft.freeze();
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A private copy of a state that actions are applied to: the map of tasks is copied once, not for each action. */
export class RunDraft {
  readonly state: Mutable<RunState>;
  private readonly rows: Map<string, TaskState>;

  constructor(state: RunState) {
    this.rows = new Map(state.tasks);
    this.state = { ...state, tasks: this.rows };
  }

  /** Hands the state out; the draft must not be used after it. */
  freeze(): RunState {
    return this.state;
  }

  apply(action: Action): void {
    switch (action.type) {
      case 'CreateTask':
      case 'DispatchTask':
      case 'ReplanUndo':
      case 'CutOffTask':
        this.applyToTask(action);
        return;
      case 'CompleteTask':
      case 'FailTask':
      case 'RetryTask':
      case 'ResolveWait':
      case 'CancelTasks':
        this.endAttempts(action);
        return;
      case 'WakeTask':
      case 'SetTimer':
      case 'ClearTimers':
        return; // rows outside the state (R9)
      default:
        this.applyToRun(action);
    }
  }

  private applyToTask(action: Of<'CreateTask' | 'DispatchTask' | 'ReplanUndo' | 'CutOffTask'>): void {
    switch (action.type) {
      case 'CreateTask':
        this.rows.set(action.taskId, createdTask(action));
        return;
      case 'DispatchTask':
        this.patch(action.taskId, {
          status: 'SCHEDULED',
          attempt: action.attempt,
          redispatches: action.redispatches,
          reportHash: null,
        });
        if (this.state.route === 'kafka') this.state.outboxSeq += 1;
        return;
      case 'ReplanUndo':
        this.patch(action.taskId, {
          status: 'PLANNED',
          failures: 0,
          losses: 0,
          redispatches: 0,
          reportHash: null,
          unknownOutcome: false,
          failure: null,
        });
        return;
      case 'CutOffTask':
        this.patch(action.taskId, { cutOff: true });
        return;
      default:
        assertNever(action);
    }
  }

  private endAttempts(action: Of<'CompleteTask' | 'FailTask' | 'RetryTask' | 'ResolveWait' | 'CancelTasks'>): void {
    switch (action.type) {
      case 'CompleteTask':
        this.patch(action.taskId, {
          status: 'SUCCEEDED',
          reportHash: action.reportHash,
          settledSeq: action.settledSeq,
          unknownOutcome: false, // R17: a later success makes the outcome known
          cutOff: false,
          failure: null,
        });
        return;
      case 'FailTask':
      case 'RetryTask':
        this.patch(action.taskId, {
          status: action.type === 'FailTask' ? action.status : 'BACKOFF',
          failure: action.failure,
          reportHash: action.reportHash,
          unknownOutcome: action.unknownOutcome,
          failures: action.failures,
          losses: action.losses,
          cutOff: false,
        });
        return;
      case 'ResolveWait':
        this.patch(action.taskId, { status: action.status, failure: action.failure, settledSeq: action.settledSeq });
        return;
      case 'CancelTasks':
        for (const taskId of action.taskIds) {
          this.patch(taskId, { status: 'CANCELLED', failure: action.reason, cutOff: false });
        }
        return;
      default:
        assertNever(action);
    }
  }

  private applyToRun(action: RunAction): void {
    const state = this.state;
    switch (action.type) {
      case 'BufferSignal':
        state.bufferedSignals += 1;
        return;
      case 'ConsumeSignal':
        if (action.insert === null) state.bufferedSignals -= 1;
        return;
      case 'BeginCompensation':
        state.status = 'COMPENSATING';
        state.cause = action.cause;
        state.failure = action.failure;
        return;
      case 'ReopenRun':
        state.status = action.status;
        state.epoch = action.epoch;
        state.definitionVersion = action.definitionVersion;
        state.undo = 'NONE';
        state.failure = null;
        // R19: the cause is set once by what ended the forward phase; only a new forward phase forgets it.
        if (action.status === 'RUNNING') state.cause = null;
        return;
      case 'FinishRun':
        state.status = action.status;
        state.undo = action.undo;
        state.cause = action.cause;
        state.failure = action.failure;
        return;
      case 'Journal':
        state.journalSeq = action.seq;
        if (PUBLISHED_JOURNAL_KINDS.has(action.kind)) state.outboxSeq += 1;
        return;
      default:
        assertNever(action);
    }
  }

  private patch(taskId: string, change: Partial<TaskState>): void {
    const row = this.rows.get(taskId);
    // A broken invariant of ours, not an expected case: the engine flags the run (R8).
    if (row === undefined) throw new Error(`action on a task that the run does not have: ${taskId}`);
    this.rows.set(taskId, { ...row, ...change });
  }
}

type Of<T extends Action['type']> = Extract<Action, { readonly type: T }>;

type RunAction = Of<'BufferSignal' | 'ConsumeSignal' | 'BeginCompensation' | 'ReopenRun' | 'FinishRun' | 'Journal'>;

function createdTask(action: CreateTask): TaskState {
  return {
    taskId: action.taskId,
    nodeId: action.nodeId,
    item: action.item,
    kind: action.kind,
    generation: action.generation,
    status: action.status,
    attempt: 0,
    failures: 0,
    losses: 0,
    redispatches: 0,
    unknownOutcome: false,
    cutOff: false,
    reportHash: null,
    settledSeq: null,
    failure: action.failure,
  };
}
