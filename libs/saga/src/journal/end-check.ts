import type { Dag, Decision, Loaded, Needs, RunEvent, RunState, TaskKind, TaskState } from '@baton/core';
import { decide, isTerminal, parseDefinition } from '@baton/core';
import { templateCompiler } from '@baton/expressions';
import type { StoredRun } from '@baton/engine';
import { invalid, isId } from './checks.js';
import { translated } from './engine-errors.js';
import { SagaError } from './errors.js';
import { isTerminalSagaStatus, sagaStatuses, statusOfRun } from './kinds.js';
import type { JournalOptions } from './journal.js';
import type { StepLease, StepReport } from './ports.js';
import type { TerminalSagaStatus } from './status.js';

/** The last word of a holder, by the end that it is for. */
const LAST_WORDS: Readonly<Record<TerminalSagaStatus, (kind: TaskKind) => StepReport | null>> = {
  succeeded: (kind) => (kind === 'forward' ? { kind: 'step_completed', output: 'null' } : null),
  failed: failedStep,
  compensated: undone,
  compensation_failed: (kind) =>
    kind === 'compensate' ? { kind: 'step_compensation_failed', failure: ENDED_BY_HOLDER, retryable: false } : null,
  // Of a run whose deadline has passed, or which was cancelled: its last undo, or its last step with nothing to undo.
  expired: (kind) => undone(kind) ?? failedStep(kind),
  cancelled: (kind) => undone(kind) ?? failedStep(kind),
};

const ENDED_BY_HOLDER = { code: 'ENDED_BY_HOLDER', message: 'the holder of the step ended the run' };
/** `decide` asks again for what it finds out it needs; more often than this it would be a mistake of ours. */
const MOST_QUESTIONS = 8;
const DUE_ROWS = 1_000;

function failedStep(kind: TaskKind): StepReport | null {
  return kind === 'forward' ? { kind: 'step_failed', failure: ENDED_BY_HOLDER, retryable: false } : null;
}

function undone(kind: TaskKind): StepReport | null {
  return kind === 'compensate' ? { kind: 'step_compensated', output: 'null' } : null;
}

interface Held {
  readonly run: StoredRun;
  readonly task: TaskState;
}

/** Whether a lease is current, and whether an end follows from the state of its run. Asks `decide`; writes nothing. */
export class EndCheck {
  constructor(private readonly options: JournalOptions) {}

  /** Rejects with NOT_FOUND or STALE_LEASE. */
  async holds(lease: StepLease): Promise<void> {
    const run = await this.runOf(lease);
    if (run === undefined) {
      throw new SagaError('not-found', 'NOT_FOUND', `there is no run ${JSON.stringify(lease.runId)}`);
    }
    if (heldTask(run, lease) === undefined) {
      throw new SagaError('conflict', 'STALE_LEASE', 'the lease is not the current one');
    }
  }

  async kindOf(lease: StepLease): Promise<TaskKind | undefined> {
    return (await this.runOf(lease))?.state.tasks.get(lease.taskId)?.kind;
  }

  /**
   * What the holder must report for the run to end so. `not-ours`: stale or unknown lease. `ended`: it ended so by its
   * deadline, here and now. Rejects (INVALID) when that end does not follow.
   */
  async reportFor(lease: StepLease, status: TerminalSagaStatus): Promise<StepReport | 'not-ours' | 'ended'> {
    const held = await this.held(lease);
    if (held === undefined) return 'not-ours';
    if (!sagaStatuses.includes(status) || !isTerminalSagaStatus(status)) {
      throw invalid('STATUS_INVALID', `${JSON.stringify(status)} is not the end of a run`, '/status');
    }
    const report = LAST_WORDS[status](held.task.kind);
    if (report !== null && (await this.endOf(held, lease, report)) === status) return report;
    if (status === 'expired' && (await this.passDeadline(lease))) {
      const left = await this.held(lease);
      if (left === undefined) return 'ended';
      const last: StepReport = { kind: 'step_released', notStarted: true };
      if ((await this.endOf(left, lease, last)) === status) return last;
    }
    const state = statusOfRun(held.run.state.status);
    throw invalid(
      'END_INVALID',
      `a run that is ${state} and whose step ${lease.nodeId} is open does not end ${status}`,
    );
  }

  private async held(lease: StepLease): Promise<Held | undefined> {
    const run = await this.runOf(lease);
    const task = run === undefined ? undefined : heldTask(run, lease);
    return run === undefined || task === undefined ? undefined : { run, task };
  }

  private async runOf({ runId }: StepLease): Promise<StoredRun | undefined> {
    if (!isId(runId)) return undefined;
    const { store, namespace } = this.options;
    return (await store.runs.readRuns([{ namespace, runId }])).get(runId);
  }

  /** The deadline is decided now if it has passed by the database's clock; otherwise nothing happens. */
  private async passDeadline({ runId }: StepLease): Promise<boolean> {
    const { items } = await this.options.store.timers.readDue(DUE_ROWS);
    const due = items.filter((item) => item.kind === 'timer' && item.runId === runId);
    if (due.length === 0) return false;
    const results = await translated(this.options.engine.fireDue(due));
    return results.some(({ outcome }) => outcome === 'APPLIED');
  }

  private async endOf({ run: { state }, task }: Held, lease: StepLease, report: StepReport): Promise<string | null> {
    const decision = await this.decided(state, eventOf(task, lease, report));
    if (decision.kind !== 'applied' || !isTerminal(decision.state.status)) return null;
    return statusOfRun(decision.state.status);
  }

  private async decided(state: RunState, event: RunEvent): Promise<Decision> {
    const { store, newId } = this.options;
    const dag = await this.dagOf(state);
    let needs: Needs = {};
    let loaded: Loaded = {};
    for (let asked = 0; asked < MOST_QUESTIONS; asked += 1) {
      const decision = decide(dag, state, event, { newId, random: () => 0.5, loaded });
      if (decision.kind !== 'needs') return decision;
      needs = merged(needs, decision.needs);
      const { namespace, runId } = state;
      const answers = await store.runs.readNeeds([{ namespace, runId, needs }], { withLeases: true });
      loaded = answers.get(runId) ?? {};
    }
    throw new SagaError('internal', 'UNDECIDED', 'the state machine asked too often');
  }

  private async dagOf({ namespace, definitionId, definitionVersion }: RunState): Promise<Dag> {
    const text = await this.options.store.runs.loadDefinition(namespace, definitionId, definitionVersion);
    const parsed = text === undefined ? undefined : parseDefinition(text, templateCompiler);
    if (parsed?.ok === true) return { ...parsed.dag, version: definitionVersion };
    const name = `${definitionId}@${definitionVersion}`;
    throw new SagaError('internal', 'DEFINITION_UNREADABLE', `the definition ${name} of a run cannot be read`);
  }
}

function heldTask(run: StoredRun, lease: StepLease): TaskState | undefined {
  const task = run.state.tasks.get(lease.taskId);
  const isCurrent = task?.status === 'SCHEDULED' && task.attempt === lease.attempt;
  return isCurrent && run.leaseIds.get(lease.taskId) === lease.leaseId.toLowerCase() ? task : undefined;
}

function eventOf({ taskId, nodeId, attempt }: TaskState, { leaseId }: StepLease, report: StepReport): RunEvent {
  const base = { taskId, nodeId, attempt, leaseId, reportHash: 'probe' };
  switch (report.kind) {
    case 'step_completed':
    case 'step_compensated':
      return { type: 'NodeCompleted', ...base, output: report.output ?? 'null' };
    case 'step_failed':
    case 'step_compensation_failed':
      return { type: 'NodeFailed', ...base, failure: report.failure, retryable: report.retryable };
    case 'step_deferred':
      return { type: 'TaskDeferred', ...base, delayMs: report.delayMs };
    case 'step_released':
      return { type: 'TaskReleased', ...base, started: !report.notStarted };
  }
}

function merged(known: Needs, more: Needs): Needs {
  const union = (key: 'payloads' | 'leases' | 'signals' | 'knownSignals' | 'timers') => {
    const all = [...new Set([...(known[key] ?? []), ...(more[key] ?? [])])];
    return all.length === 0 ? {} : { [key]: all };
  };
  return {
    ...union('payloads'),
    ...union('leases'),
    ...union('signals'),
    ...union('knownSignals'),
    ...union('timers'),
    ...((known.runInput ?? more.runInput) === true && { runInput: true as const }),
    ...((known.expiredSignals ?? more.expiredSignals) === true && { expiredSignals: true as const }),
  };
}
