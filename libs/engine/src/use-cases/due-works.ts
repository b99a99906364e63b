import type { RunEvent } from '@baton/core';
import type { DueItem, EngineError, FireResult } from '../api.js';
import { isLockTimeout } from '../lane/store-failures.js';
import type { Outcome, Work } from '../lane/work.js';
import type { Store } from '../ports.js';
import { checkCount, checkUuid } from './checks.js';

export interface DueDeps {
  readonly store: Pick<Store, 'pushTimer' | 'pushWake' | 'flagStuck'>;
  readonly timerFailures: number;
  readonly onStoreError: (error: unknown) => void;
}

/** One due row on its way. Wake-ups are decided on lease facts, so they lock first (R9). */
export function dueWork(raw: DueItem, deps: DueDeps, settle: (result: FireResult) => void): Work {
  const runId = checkUuid(raw.runId, 'runId');
  const event = eventOf(raw);
  const item = { ...raw, runId };
  return {
    namespace: raw.namespace,
    runId,
    size: 0,
    way: raw.kind === 'task' ? 'lock-first' : 'optimistic',
    keysFirst: false,
    command: null,
    misses: 0,
    dataErrors: 0,
    choose: () => ({ kind: 'event', event }),
    settle: (outcome) => void answer(item, outcome, deps).then(settle),
  };
}

function eventOf(item: DueItem): RunEvent {
  if (item.kind === 'timer') return { type: 'TimerFired', timerId: checkUuid(item.timerId, 'timerId') };
  checkCount(item.attempt, 'attempt');
  return { type: 'TaskWoken', taskId: checkUuid(item.taskId, 'taskId'), attempt: item.attempt };
}

async function answer(item: DueItem, outcome: Outcome, deps: DueDeps): Promise<FireResult> {
  switch (outcome.kind) {
    case 'applied':
      return { outcome: 'APPLIED' };
    case 'ignored':
      return { outcome: 'IGNORED', reason: outcome.decision.reason };
    case 'missing':
      return pushBack(item, 'RUN_NOT_FOUND', deps);
    case 'refused':
      return pushBack(item, outcome.refusal.code, deps);
    case 'known-command':
      return pushBack(item, 'INTERNAL', deps);
    case 'failed':
      // A database that is away is no fault of the row: it stays due, and the timer service waits. A run that somebody
      // holds for long is: a page of such rows would come again and again, and nothing else with it.
      if (outcome.error.kind === 'unavailable' && !isHeld(outcome.error)) {
        return { outcome: 'FAILED', reason: outcome.error.code };
      }
      return pushBack(item, outcome.error.code, deps);
  }
}

function isHeld({ code, cause }: EngineError): boolean {
  return code === 'RUN_BUSY' || isLockTimeout(cause);
}

/** R21: one row can never hold a page. After so many failures a person must look. */
async function pushBack(item: DueItem, reason: string, deps: DueDeps): Promise<FireResult> {
  const { namespace, runId } = item;
  try {
    const failures =
      item.kind === 'task'
        ? await deps.store.pushWake(namespace, runId, item.taskId.toLowerCase())
        : await deps.store.pushTimer(namespace, runId, item.timerId.toLowerCase());
    const what = item.kind === 'task' ? 'a wake-up' : 'a timer';
    if (failures >= deps.timerFailures) await deps.store.flagStuck({ namespace, runId }, `${what} fails: ${reason}`);
  } catch (error) {
    deps.onStoreError(error);
  }
  return { outcome: 'FAILED', reason };
}
