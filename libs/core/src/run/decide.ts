import { assertNever } from '../assert-never.js';
import type { Dag } from '../definition/model.js';
import { onRunCancelled } from './cancel.js';
import type { DecideEnv, Decision } from './decide-types.js';
import type { RunEvent } from './events.js';
import { onReport } from './reports.js';
import { onCompensateRun } from './retry-compensation.js';
import { onRunRetried } from './retry-run.js';
import { onSignal } from './signals.js';
import { onRunStarted } from './start.js';
import type { RunState } from './state.js';
import { onTimerFired } from './timers.js';
import { Transition, type Outcome } from './transition.js';
import { onTaskWoken } from './wakes.js';

/**
 * The state machine: what one event does to one run. Pure (I3): the same definition, state, event and env
 * give the same decision. It never awaits: facts that it lacks are asked for with `needs`, and the caller calls
 * again with them added to `env.loaded`.
 *
 * `dag` is the definition version the run is pinned to; for RunRetried it is the version to go on with.
 */
export function decide(dag: Dag, state: RunState, event: RunEvent, env: DecideEnv): Decision {
  if (dag.definitionId !== state.definitionId) throw new Error(`run of ${state.definitionId} on ${dag.definitionId}`);
  if (dag.version !== state.definitionVersion && event.type !== 'RunRetried') {
    throw new Error(`run is pinned to version ${state.definitionVersion}, decided on ${dag.version}`);
  }
  const transition = new Transition(dag, state, env);
  const outcome = applyEvent(transition, event);
  const needs = transition.missing();
  if (needs !== undefined) return { kind: 'needs', needs };
  switch (outcome.kind) {
    case 'applied':
      return { ...outcome, actions: transition.actions, state: transition.finish() };
    case 'ignored':
      return { ...outcome, actions: transition.actions, state };
    case 'refused':
      return outcome;
  }
}

function applyEvent(t: Transition, event: RunEvent): Outcome {
  switch (event.type) {
    case 'RunStarted':
      return onRunStarted(t, event);
    case 'NodeCompleted':
    case 'NodeFailed':
    case 'TaskReleased':
    case 'TaskDeferred':
      return onReport(t, event);
    case 'TaskWoken':
      return onTaskWoken(t, event);
    case 'SignalReceived':
      return onSignal(t, event);
    case 'TimerFired':
      return onTimerFired(t, event);
    case 'RunRetried':
      return onRunRetried(t, event);
    case 'RunCancelled':
      return onRunCancelled(t, event);
    case 'CompensateRun':
      return onCompensateRun(t, event);
    default:
      return assertNever(event);
  }
}
