import type { Action, RunState } from '@baton/core';
import { isTerminal } from '@baton/core';
import type { KnownPayloads, RunCache } from '../caches/run-cache.js';
import type { RunOutcome } from '../api.js';
import type { EngineHooks, RunFacts, TaskFacts } from '../options.js';
import type { RunRef } from '../ports.js';
import { tellSafely } from './store-failures.js';
import type { RunTurn } from './run-turn.js';
import type { RunFold } from '../fold/run-fold.js';

export interface SettleDeps {
  readonly cache: RunCache;
  readonly hooks: EngineHooks;
  /** A run has ended; `outcomeOf` answers what it came to, or null if that is not known here. */
  readonly onOutcome: (ref: RunRef, outcomeOf: () => RunOutcome | null) => void;
}

/** After the commit (I13): the cache first, then hooks, then the answers to callers. */
export function settleTurn(turn: RunTurn, deps: SettleDeps): void {
  const { fold, seen } = turn;
  if (fold !== null && seen !== null && turn.hasWrite) {
    if (isTerminal(fold.state.status)) deps.onOutcome(fold.state, () => outcomeOf(fold, deps.cache));
    rememberRun(fold, seen.state.version + 1, turn, deps.cache);
    for (const { outcome } of turn.outcomes) {
      if (outcome.kind === 'applied') tellActions(outcome.decision.state, outcome.decision.actions, deps.hooks);
    }
  }
  for (const { work, outcome } of turn.outcomes) work.settle(outcome);
}

/** What the rows say, from what this process wrote itself; null where one of the outputs was written by another. */
function outcomeOf({ state, tasks: rows, output }: RunFold, cache: RunCache): RunOutcome | null {
  const { runId, namespace, status, failure } = state;
  const known = cache.payloadsOf(runId);
  const written = new Map(rows.entries());
  const tasks: RunOutcome['tasks'][number][] = [];
  for (const task of state.tasks.values()) {
    const { taskId, nodeId, item, kind, generation } = task;
    const fresh = written.get(taskId)?.output;
    const text = fresh === undefined ? known?.get(taskId)?.output : fresh;
    const isWanted = kind === 'forward' && task.status === 'SUCCEEDED';
    if (isWanted && text === undefined) return null;
    tasks.push({
      taskId,
      nodeId,
      item,
      kind,
      generation,
      status: task.status,
      ...(isWanted && { output: text ?? null }),
    });
  }
  return { run: { runId, namespace, status, failure }, tasks, output: output ?? null };
}

export function rememberRun(
  fold: RunFold,
  version: number,
  turn: Pick<RunTurn, 'traceparent'> & Partial<Pick<RunTurn, 'facts' | 'leaseIds'>>,
  cache: RunCache,
): void {
  const state: RunState = { ...fold.state, version };
  if (isTerminal(state.status)) {
    cache.evict(state.runId);
    return;
  }
  const payloads = new Map<string, KnownPayloads>();
  for (const [taskId, row] of fold.tasks.entries()) {
    const output = row.output ?? (row.op === 'insert' ? null : undefined);
    // A planned undo gets its input when it is dispatched: until then it is not known.
    payloads.set(taskId, { input: row.input ?? undefined, output });
  }
  cache.put({ state, traceparent: turn.traceparent, input: fold.input ?? turn.facts?.runInput, payloads });
  for (const [taskId, leaseId] of turn.leaseIds ?? []) {
    // The cache drops those whose attempt has ended.
    cache.rememberLease(state.runId, taskId, { attempt: fold.loadedAttempt(taskId), leaseId });
  }
  for (const [taskId, { wake }] of fold.tasks.entries()) {
    if (wake.kind !== 'dispatch' || wake.lease === null) continue;
    const attempt = state.tasks.get(taskId)?.attempt ?? 0;
    cache.rememberLease(state.runId, taskId, { attempt, leaseId: wake.lease.leaseId });
  }
}

export function runFacts(run: RunState): RunFacts {
  const { namespace, runId, definitionId, definitionVersion, status, epoch } = run;
  return { namespace, runId, definitionId, definitionVersion, status, epoch, code: run.failure?.code ?? null };
}

/** Metrics and success logs of one decision. */
export function tellActions(run: RunState, actions: readonly Action[], hooks: EngineHooks): void {
  for (const action of actions) {
    switch (action.type) {
      case 'DispatchTask':
        tellSafely(() => hooks.onTaskDispatched?.(taskFacts(run, action.taskId, action.attempt)));
        break;
      case 'CompleteTask':
      case 'FailTask':
      case 'ResolveWait':
        tellSettled(run, action.taskId, hooks);
        break;
      case 'CancelTasks':
        for (const taskId of action.taskIds) tellSettled(run, taskId, hooks);
        break;
      case 'RetryTask':
        tellSafely(() =>
          hooks.onTaskRetried?.({
            ...taskFacts(run, action.taskId, action.attempt),
            backoffMs: action.backoffMs,
            code: action.failure.code,
          }),
        );
        break;
      case 'FinishRun':
        tellSafely(() => hooks.onRunEnded?.(runFacts(run)));
        break;
      default:
        break; // nothing that metrics count
    }
  }
}

function tellSettled(run: RunState, taskId: string, hooks: EngineHooks): void {
  if (hooks.onTaskSettled === undefined) return;
  const task = run.tasks.get(taskId);
  if (task === undefined) return;
  const facts = { ...taskFacts(run, taskId, task.attempt), status: task.status, code: task.failure?.code ?? null };
  tellSafely(() => hooks.onTaskSettled?.(facts));
}

function taskFacts(run: RunState, taskId: string, attempt: number): TaskFacts {
  const task = run.tasks.get(taskId);
  return {
    namespace: run.namespace,
    runId: run.runId,
    definitionId: run.definitionId,
    taskId,
    nodeId: task?.nodeId ?? '',
    kind: task?.kind ?? 'forward',
    attempt,
  };
}
