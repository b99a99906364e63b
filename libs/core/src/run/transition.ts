import type { Dag } from '../definition/model.js';
import type { Action, Journal, JournalKind } from './actions.js';
import type { BufferedSignal, DecideEnv, ExpiredSignal, LeaseFacts, Needs, Refusal } from './decide-types.js';
import type { ReportOutcome, TimerRow } from './decide-types.js';
import { RunDraft } from './evolve.js';
import { RunRows } from './rows.js';
import type { Failure, JsonText, RunState, TaskState } from './state.js';

/** What a handler of one event comes to. The actions are in the transition. */
export type Outcome =
  | { readonly kind: 'applied'; readonly report?: ReportOutcome; readonly signalDelivered?: boolean }
  | { readonly kind: 'ignored'; readonly reason: string; readonly report?: ReportOutcome; readonly duplicate?: true }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export const APPLIED: Outcome = { kind: 'applied' };

export function ignored(reason: string): Outcome {
  return { kind: 'ignored', reason };
}

export function refused(code: Refusal['code'], message: string, nodes?: readonly string[]): Outcome {
  return { kind: 'refused', refusal: nodes === undefined ? { code, message } : { code, message, nodes } };
}

const NOT_LEASED: LeaseFacts = {
  leaseId: null,
  leaseOwner: null,
  leaseExpired: false,
  startToClosePassed: false,
  scheduleToStartPassed: false,
  scheduleToClosePassed: false,
  redispatchDue: false,
  backoffOver: false,
  cutOffOver: false,
};

/** Longest text of a failure in the journal. */
const MAX_DETAIL_LENGTH = 2_000;

/**
 * One decision in the making: the actions so far, the state that they lead to, and the facts that are missing.
 *
 * A fact that is not loaded is answered with undefined and noted; the handler goes on as far as it can, so that one
 * round asks for as much as possible. Whatever it decided without the fact is thrown away: `decide` answers `needs`.
 */
export class Transition {
  readonly actions: Action[] = [];
  readonly rows: RunRows;
  /** A forward failure of this decision: the forward phase ends before the decision does. */
  failure: Failure | undefined;
  private readonly draft: RunDraft;
  private readonly inputs = new Map<string, JsonText | null>();
  private readonly outputs = new Map<string, JsonText | null>();
  private readonly dispatched = new Set<string>();
  private readonly consumedSignals = new Set<string>();
  private newRunInput: JsonText | undefined;
  private needsRunInput = false;
  private needsSignals = false;
  private needsExpiredSignals = false;
  private readonly needsPayloads = new Set<string>();
  private readonly needsLeases = new Set<string>();
  private readonly needsKnownSignals = new Set<string>();
  private readonly needsTimers = new Set<string>();

  constructor(
    readonly dag: Dag,
    state: RunState,
    readonly env: DecideEnv,
  ) {
    this.draft = new RunDraft(state);
    this.rows = new RunRows(dag, this.draft.state);
  }

  get state(): RunState {
    return this.draft.state;
  }

  apply(action: Action): void {
    this.actions.push(action);
    this.draft.apply(action);
    switch (action.type) {
      case 'CreateTask':
        this.rows.add(this.task(action.taskId));
        this.inputs.set(action.taskId, action.input);
        this.outputs.set(action.taskId, null);
        this.dispatched.add(action.taskId); // a row that no worker can have seen
        return;
      case 'DispatchTask':
        this.inputs.set(action.taskId, action.input);
        this.dispatched.add(action.taskId);
        return;
      case 'CompleteTask':
      case 'ResolveWait':
        this.outputs.set(action.taskId, action.output);
        return;
      case 'ConsumeSignal':
        this.consumedSignals.add(action.signalId);
        return;
      case 'ReopenRun':
        if (action.input !== null) this.newRunInput = action.input;
        return;
      default:
        return;
    }
  }

  /** Seq that the next journal row will have. */
  get nextSeq(): number {
    return this.state.journalSeq + 1;
  }

  journal(kind: JournalKind, about: Partial<Pick<Journal, 'nodeId' | 'code' | 'detail'>> = {}, task?: TaskState): void {
    this.apply({
      type: 'Journal',
      seq: this.nextSeq,
      kind,
      nodeId: task?.nodeId ?? about.nodeId ?? null,
      taskId: task?.taskId ?? null,
      taskKind: task?.kind ?? null,
      attempt: task !== undefined && task.attempt > 0 ? task.attempt : null,
      code: about.code ?? null,
      detail: about.detail?.slice(0, MAX_DETAIL_LENGTH).toWellFormed() ?? null,
    });
  }

  /** The row as it stands now. */
  task(taskId: string): TaskState {
    const task = this.state.tasks.get(taskId);
    if (task === undefined) throw new Error(`the run has no task ${taskId}`);
    return task;
  }

  runInput(): JsonText | null | undefined {
    if (this.newRunInput !== undefined) return this.newRunInput;
    if (this.env.loaded.runInput === undefined) this.needsRunInput = true;
    return this.env.loaded.runInput;
  }

  inputOf(taskId: string): JsonText | null | undefined {
    const fresh = this.inputs.get(taskId);
    return fresh !== undefined ? fresh : this.payloadsOf(taskId)?.input;
  }

  outputOf(taskId: string): JsonText | null | undefined {
    const fresh = this.outputs.get(taskId);
    return fresh !== undefined ? fresh : this.payloadsOf(taskId)?.output;
  }

  /** R9: lease columns are not part of the state; a decision that depends on them asks under the row's lock. */
  leaseOf(taskId: string): LeaseFacts | undefined {
    if (this.dispatched.has(taskId)) return NOT_LEASED;
    const facts = this.env.loaded.leases?.get(taskId);
    if (facts === undefined) this.needsLeases.add(taskId);
    return facts;
  }

  /** Oldest buffered signal of this name that nothing has consumed. null = there is none. */
  bufferedSignal(name: string): BufferedSignal | null | undefined {
    if (this.state.bufferedSignals === 0) return null;
    const loaded = this.env.loaded.signals;
    if (loaded === undefined) {
      this.needsSignals = true;
      return undefined;
    }
    return loaded.get(name)?.find((signal) => !this.consumedSignals.has(signal.signalId)) ?? null;
  }

  /** Buffered signals that nothing can take any more. */
  expiredSignals(): readonly ExpiredSignal[] | undefined {
    const loaded = this.env.loaded.expiredSignals;
    if (loaded === undefined) this.needsExpiredSignals = true;
    return loaded;
  }

  /** null = the run does not know this signal id. */
  knownSignal(signalId: string): { readonly payloadHash: string } | null | undefined {
    const loaded = this.env.loaded.knownSignals;
    if (loaded === undefined) {
      this.needsKnownSignals.add(signalId);
      return undefined;
    }
    return loaded.get(signalId) ?? null;
  }

  /** null = the row is gone. */
  timer(timerId: string): TimerRow | null | undefined {
    const loaded = this.env.loaded.timers;
    if (loaded === undefined) {
      this.needsTimers.add(timerId);
      return undefined;
    }
    return loaded.get(timerId) ?? null;
  }

  /** What is missing for this decision; undefined = nothing, the decision stands. */
  missing(): Needs | undefined {
    const needs: { -readonly [K in keyof Needs]: Needs[K] } = {};
    if (this.needsRunInput) needs.runInput = true;
    if (this.needsPayloads.size > 0) needs.payloads = [...this.needsPayloads];
    if (this.needsLeases.size > 0) needs.leases = [...this.needsLeases];
    // All names at once: an answer without a name then always means "none", in whatever round it is read.
    if (this.needsSignals) needs.signals = signalNames(this.dag);
    if (this.needsExpiredSignals) needs.expiredSignals = true;
    if (this.needsKnownSignals.size > 0) needs.knownSignals = [...this.needsKnownSignals];
    if (this.needsTimers.size > 0) needs.timers = [...this.needsTimers];
    return Object.keys(needs).length === 0 ? undefined : needs;
  }

  finish(): RunState {
    return this.draft.freeze();
  }

  private payloadsOf(
    taskId: string,
  ): { readonly input: JsonText | null; readonly output: JsonText | null } | undefined {
    const payloads = this.env.loaded.payloads?.get(taskId);
    if (payloads === undefined) this.needsPayloads.add(taskId);
    return payloads;
  }
}

function signalNames(dag: Dag): string[] {
  const names = new Set<string>();
  for (const node of dag.nodes.values()) if (node.type === 'wait') names.add(node.signal);
  return [...names];
}
