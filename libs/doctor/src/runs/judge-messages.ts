import type { RunState } from '@baton/core';
import type { Bounds } from '../bounds.js';
import { millisOf } from '../instants.js';
import { ENDS_OF_RUN, sagaTypeOf } from './journal-words.js';
import type { ExpectedMessage } from './run-journal.js';
import type { OutboxRow, RunView } from './run-view.js';
import type { Verdict } from './verdict.js';

/** I1, I2: the n-th journal row that is told to others has the outbox row with run_seq n, and there is no other. */
export function judgeMessages({ state, journal, messages }: RunView, verdict: Verdict, bounds: Bounds): void {
  const expected = journal.messages;
  if (expected.length !== state.outboxSeq) {
    const message = `outbox_seq is ${state.outboxSeq}, but the journal tells of ${expected.length} messages`;
    verdict.add('I2', 'OUTBOX_SEQ_DIFFERS', message);
    return;
  }
  const rows = new Map<number, OutboxRow[]>();
  for (const row of messages) {
    const seq = Number(row.run_seq);
    rows.set(seq, [...(rows.get(seq) ?? []), row]);
  }
  const findings = new Findings(verdict);
  expected.forEach((message, index) => {
    const found = rows.get(index + 1) ?? [];
    rows.delete(index + 1);
    // What is older than the partitions that are left has been dropped with its own.
    if (found.length === 0 && millisOf(message.at) < bounds.outboxMs) return;
    const [only] = found;
    if (only === undefined)
      findings.missing(index + 1, message, isOpen(state.tasks.get(message.taskId ?? ''), message));
    else if (found.length > 1) findings.doubled(index + 1, found.length);
    else if (!isSame(only, message, state)) findings.differs(index + 1, message, only);
  });
  for (const runSeq of rows.keys()) findings.beyond(runSeq);
}

class Findings {
  constructor(private readonly verdict: Verdict) {}

  missing(runSeq: number, { type, nodeId, seq }: ExpectedMessage, open: boolean): void {
    const about = { nodeId };
    const what = `${type} (run_seq ${runSeq}, journal seq ${seq}) has no outbox row`;
    if (open) this.verdict.add('I2', 'TASK_NOT_IN_OUTBOX', `the open attempt's ${what}`, about);
    else if (ENDS_OF_RUN.has(type)) this.verdict.add('I2', 'END_NOT_IN_OUTBOX', what);
    else this.verdict.add('I1', 'OUTBOX_GAP', what, about);
  }

  doubled(runSeq: number, times: number): void {
    this.verdict.add('I1', 'OUTBOX_SEQ_TWICE', `run_seq ${runSeq} has ${times} outbox rows`);
  }

  beyond(runSeq: number): void {
    this.verdict.add('I1', 'OUTBOX_BEYOND_RUN', `run_seq ${runSeq} is none of the run's`);
  }

  differs(runSeq: number, { type, nodeId }: ExpectedMessage, row: OutboxRow): void {
    const message = `run_seq ${runSeq} should be ${type} and is ${row.type} on ${row.topic}`;
    this.verdict.add('I2', 'OUTBOX_ROW_DIFFERS', message, { nodeId });
  }
}

function isOpen(
  task: { readonly status: string; readonly attempt: number } | undefined,
  message: ExpectedMessage,
): boolean {
  return message.type === 'task.dispatched' && task?.status === 'SCHEDULED' && task.attempt === message.attempt;
}

/** The head of a payload begins with the ids, in the order that the engine writes them. */
function isSame(row: OutboxRow, message: ExpectedMessage, { route, definitionId }: RunState): boolean {
  // R29: what goes on with a local run from outside of it names its events as the platform does.
  if (route === 'local' && row.type === sagaTypeOf(definitionId, message.type)) {
    return has(row.head, 'version', String(message.seq));
  }
  if (row.type !== message.type) return false;
  if (message.type !== 'task.dispatched') return has(row.head, 'seq', String(message.seq));
  const { taskId, attempt } = message;
  return has(row.head, 'taskId', `"${taskId ?? ''}"`) && has(row.head, 'attempt', String(attempt ?? 0));
}

function has(head: string, field: string, value: string): boolean {
  return head.includes(`"${field}":${value},`) || head.includes(`"${field}":${value}}`);
}
