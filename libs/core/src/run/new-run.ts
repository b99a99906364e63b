import type { Route, RunState } from './state.js';

export interface NewRun {
  readonly runId: string;
  readonly namespace: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly route: Route;
}

/** A run before its first event (RunStarted). Its `version` is 0: no row exists yet. */
export function newRun(run: NewRun): RunState {
  return {
    ...run,
    status: 'RUNNING',
    cause: null,
    undo: 'NONE',
    epoch: 1,
    version: 0,
    journalSeq: 0,
    outboxSeq: 0,
    bufferedSignals: 0,
    failure: null,
    tasks: new Map(),
  };
}
