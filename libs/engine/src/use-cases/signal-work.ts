import type { RunEvent } from '@baton/core';
import type { EngineError, SignalResult, SignalRun } from '../api.js';
import { refusalError } from '../lane/refusals.js';
import type { Outcome, Work } from '../lane/work.js';
import { checkDuration, checkJson, checkName, checkUuid } from './checks.js';
import { runNotFound } from './command-works.js';

/** Signals always have an id by now (R6): the edge makes one. It deduplicates until the run ends. */
export function signalWork(
  raw: SignalRun,
  deps: { readonly hash: (text: string) => string; readonly settle: (result: SignalResult | EngineError) => void },
): Work {
  const { namespace, name, payload, signalId } = raw;
  const runId = checkUuid(raw.runId, 'runId');
  checkName(name, 'name');
  checkName(signalId, 'signalId');
  checkJson(payload, 'payload');
  const expiresInMs = raw.expiresInMs === undefined ? 0 : checkDuration(raw.expiresInMs, 'expiresInMs');
  const event: RunEvent = {
    type: 'SignalReceived',
    signalId,
    name,
    payload,
    // The name is part of what was sent: one id for two names is a conflict, not a duplicate.
    payloadHash: deps.hash(`${name}\n${payload}`),
    ...(expiresInMs === 0 ? {} : { expiresInMs }),
  };
  return {
    namespace,
    runId,
    size: payload.length,
    way: 'optimistic',
    keysFirst: false,
    command: null,
    misses: 0,
    dataErrors: 0,
    choose: () => ({ kind: 'event', event }),
    settle: (outcome) => deps.settle(signalResult(runId, outcome)),
  };
}

function signalResult(runId: string, outcome: Outcome): SignalResult | EngineError {
  switch (outcome.kind) {
    case 'applied':
      return { delivered: outcome.decision.signalDelivered === true, duplicate: false };
    case 'ignored':
      return { delivered: false, duplicate: outcome.decision.duplicate === true };
    case 'refused':
      return refusalError(outcome.refusal);
    case 'failed':
      return outcome.error;
    case 'missing':
    case 'known-command':
      return runNotFound(runId);
  }
}
