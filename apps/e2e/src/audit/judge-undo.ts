import { stepKey, type Indexed } from './index-records.js';
import type { LedgerRecord, RunRecord } from './records.js';

/** The example's steps with an undo, in order of dependency: each comes after the ones before it. */
const ORDER = ['reserve', 'charge', 'ship'];
const UNDONE = new Set(['COMPENSATED', 'CANCELLED', 'FAILED']);

/**
 * I10, R17, R18: what was done, or may have been done, is undone, nothing else is, each undo comes after the end of its
 * step and after the undos of what depends on it.
 */
export function judgeUndo(all: Indexed): string[] {
  return all.runs
    .filter((run) => UNDONE.has(run.status))
    .flatMap((run) => [...wrongSet(run, all), ...wrongOrder(run, all)]);
}

function wrongSet(run: RunRecord, all: Indexed): string[] {
  const problems: string[] = [];
  for (const node of ORDER) {
    const forward = all.taskOf.get(`${run.runId} ${node} forward`);
    const undo = all.taskOf.get(`${run.runId} ${node} compensate`);
    const finished = [...(all.callsOf.get(`${run.runId} ${node} forward`)?.values() ?? [])].some(
      (call) => call.finishes > 0,
    );
    const isDue = forward !== undefined && (forward.status === 'SUCCEEDED' || forward.unknownOutcome);
    const isUndone = undo?.status === 'SUCCEEDED';
    if (finished && !isUndone) problems.push(`done by a handler and not undone: ${run.runId} ${node}`);
    else if (isDue && !isUndone) problems.push(`may have been done and is not undone: ${run.runId} ${node}`);
    if (isUndone && !isDue) problems.push(`undone though it was never done: ${run.runId} ${node}`);
  }
  return problems;
}

function wrongOrder(run: RunRecord, all: Indexed): string[] {
  const position = new Map(all.ledger.map((row, index) => [row, index]));
  /** Where the attempt that counts began or ended; a zombie's later rows say nothing about the order. */
  const at = (node: string, kind: string, event: LedgerRecord['event']): number | undefined => {
    const task = all.taskOf.get(stepKey({ runId: run.runId, node, kind }));
    if (task?.status !== 'SUCCEEDED') return undefined;
    const call = all.callsOf.get(stepKey(task))?.get(task.attempt);
    const row = call?.rows.find((candidate) => candidate.event === event);
    return row === undefined ? undefined : position.get(row);
  };
  const problems: string[] = [];
  ORDER.forEach((node, index) => {
    const begun = at(node, 'compensate', 'started');
    if (begun === undefined) return;
    const done = at(node, 'forward', 'finished');
    if (done !== undefined && done > begun) problems.push(`undone before it was done: ${run.runId} ${node}`);
    for (const later of ORDER.slice(index + 1)) {
      const ended = at(later, 'compensate', 'finished');
      if (ended !== undefined && ended > begun) {
        problems.push(`undone out of order: ${run.runId} ${node} before ${later}`);
      }
    }
  });
  return problems;
}
