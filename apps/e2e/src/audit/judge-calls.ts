import { attemptKey, groupBy, stepKey, type HandlerCall, type Indexed } from './index-records.js';
import type { JournalRecord, TaskRecord } from './records.js';

/** How an attempt ended, as far as a worker could know of it. */
type End = 'success' | 'failure' | 'lost' | 'given back' | 'cut off' | 'open' | 'redispatched';

const ENDS: Readonly<Record<string, End>> = {
  'node.succeeded': 'success',
  'node.compensated': 'success',
  'task.retry_scheduled': 'failure',
  'node.failed': 'failure',
  'node.compensation_failed': 'failure',
  'node.timed_out': 'lost',
  'task.lease_lost': 'lost',
  'task.released': 'given back',
  'task.deferred': 'given back',
  'node.cancelled': 'cut off',
};

const DISPATCHES = new Set(['task.scheduled', 'task.redispatched']);
/** Baton's own words for an attempt that no worker has reported. */
const BY_TIME = new Set(['LEASE_LOST', 'TIMEOUT', 'SCHEDULE_TO_CLOSE_TIMEOUT', 'SCHEDULE_TO_START_TIMEOUT']);

export interface CallFigures {
  readonly handlerCalls: number;
  /** Calls of an attempt that Baton gave up before it heard of its end. */
  readonly callsOfLostAttempts: number;
  /** Of these: the handler had finished its work. */
  readonly finishedButLost: number;
  readonly attemptsLost: number;
  readonly redispatches: number;
}

/**
 * Ledger and Baton agree on every attempt, both ways.
 *
 * - Attempts of a step are dispatched once each, 1, 2, 3, … up to the one on its row (I5).
 * - Each call belongs to an attempt that Baton dispatched; no attempt is called twice (a lease is granted once).
 * - A recorded success was finished by exactly that attempt, and Baton records one for each step.
 * - A recorded failure was a failure of the handler.
 * - What a handler did and Baton did not record belongs to an attempt that Baton knows as lost, given back or cut off.
 * - All attempts of a step carry the same idempotency key.
 */
export function judgeCalls(all: Indexed): string[] {
  const problems: string[] = [];
  for (const [step, calls] of all.callsOf) {
    const task = all.taskOf.get(step);
    if (task === undefined) {
      problems.push(`a handler was called for a step that Baton does not know: ${step}`);
      continue;
    }
    const keys = new Set([...calls.values()].flatMap((call) => call.rows.map((row) => row.key)));
    if (keys.size !== 1) problems.push(`${keys.size} idempotency keys for ${step}: ${[...keys].join(', ')}`);
    for (const [attempt, call] of calls) problems.push(...judgeCall(all, task, attempt, call));
  }
  return [...problems, ...wrongDispatches(all), ...successesWithoutWork(all), ...doubleSuccesses(all)];
}

function wrongDispatches(all: Indexed): string[] {
  const dispatched = groupBy(
    all.journal.filter((row) => DISPATCHES.has(row.kind)),
    (row) => row.taskId ?? '',
  );
  return all.tasks.flatMap((task) => {
    const attempts = (dispatched.get(task.taskId) ?? []).map((row) => row.attempt);
    const isWhole = attempts.length === task.attempt && attempts.every((attempt, index) => attempt === index + 1);
    return isWhole ? [] : [`dispatched as ${attempts.join(', ')}, on attempt ${task.attempt}: ${stepKey(task)}`];
  });
}

function judgeCall(all: Indexed, task: TaskRecord, attempt: number, call: HandlerCall): string[] {
  const name = `${stepKey(task)} ${attempt}`;
  const history = all.historyOf.get(attemptKey(task.taskId, attempt)) ?? [];
  const end = endOf(history, task, attempt);
  const problems: string[] = [];
  if (!history.some((row) => DISPATCHES.has(row.kind))) problems.push(`called, but never dispatched: ${name}`);
  if (call.starts !== 1) problems.push(`one attempt was called ${call.starts} times: ${name}`);
  if (call.finishes + call.failures > 1)
    problems.push(`one call ended ${call.finishes + call.failures} times: ${name}`);
  if (call.finishes > 0 && !['success', 'lost', 'given back', 'cut off'].includes(end)) {
    problems.push(`finished by a handler, forgotten by Baton (${end}): ${name}`);
  }
  if (call.failures > 0 && end === 'success') problems.push(`failed in its handler, a success for Baton: ${name}`);
  if (call.finishes + call.failures === 0 && (end === 'success' || end === 'failure')) {
    problems.push(`never ended in its handler, a ${end} for Baton: ${name}`);
  }
  if (end === 'open' || end === 'redispatched') problems.push(`called, and its attempt is ${end}: ${name}`);
  return problems;
}

function endOf(history: readonly JournalRecord[], task: TaskRecord, attempt: number): End {
  const row = history.find(({ kind }) => ENDS[kind] !== undefined);
  if (row === undefined) return task.attempt > attempt ? 'redispatched' : 'open';
  const end = ENDS[row.kind] ?? 'open';
  return end === 'failure' && BY_TIME.has(row.code ?? '') ? 'lost' : end;
}

function successesWithoutWork(all: Indexed): string[] {
  return all.tasks
    .filter((task) => task.status === 'SUCCEEDED')
    .filter((task) => all.callsOf.get(stepKey(task))?.get(task.attempt)?.finishes !== 1)
    .map((task) => `recorded as succeeded, but no handler finished it: ${stepKey(task)} ${task.attempt}`);
}

function doubleSuccesses(all: Indexed): string[] {
  const rows = groupBy(
    all.tasks.filter((task) => task.status === 'SUCCEEDED'),
    stepKey,
  );
  const ids = new Map(all.tasks.map((task) => [task.taskId, task]));
  const told = groupBy(
    all.journal.filter((row) => ENDS[row.kind] === 'success'),
    (row) => row.taskId ?? '',
  );
  return [
    ...[...rows].filter(([, own]) => own.length > 1).map(([step, own]) => `recorded ${own.length} times: ${step}`),
    ...[...told]
      .filter(([taskId, own]) => own.length > 1 || ids.get(taskId)?.status !== 'SUCCEEDED')
      .map(([taskId, own]) => `${own.length} successes in the journal of ${stepKey(ids.get(taskId) ?? NOBODY)}`),
  ];
}

const NOBODY = { runId: '?', node: '?', kind: '?' };

export function callFigures(all: Indexed): CallFigures {
  const calls = [...all.callsOf].flatMap(([step, byAttempt]) => {
    const task = all.taskOf.get(step);
    return [...byAttempt].map(([attempt, call]) => ({
      call,
      end:
        task === undefined ? 'open' : endOf(all.historyOf.get(attemptKey(task.taskId, attempt)) ?? [], task, attempt),
    }));
  });
  const lost = calls.filter(({ end }) => end === 'lost' || end === 'cut off' || end === 'given back');
  return {
    handlerCalls: calls.length,
    callsOfLostAttempts: lost.length,
    finishedButLost: lost.filter(({ call }) => call.finishes > 0).length,
    attemptsLost: all.journal.filter((row) => row.kind === 'task.lease_lost').length,
    redispatches: all.journal.filter((row) => row.kind === 'task.redispatched').length,
  };
}
