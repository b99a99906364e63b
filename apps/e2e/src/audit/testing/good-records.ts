import type { OrderOutcome } from '../../order-feeder.js';
import type { JournalRecord, LedgerRecord, MessageRecord, OutboxRecord, Records, TaskRecord } from '../records.js';

/**
 * Two runs about which everything agrees: `ok` succeeded after a worker was lost in its charge, `undone` charged, was
 * refused the shipping and took everything back.
 */
export function goodRecords(): Records {
  const writer = new Writer();
  writer.step('ok', 'reserve');
  writer.lostThenDone('ok', 'charge');
  for (const node of ['ship', 'invoice', 'notify']) writer.step('ok', node);
  writer.end('ok', 'run.succeeded');
  writer.step('undone', 'reserve');
  writer.step('undone', 'charge');
  writer.refused('undone', 'ship');
  writer.undo('undone', 'charge');
  writer.undo('undone', 'reserve');
  writer.end('undone', 'run.compensated');
  return writer.records();
}

export function messagesOf(outbox: readonly OutboxRecord[]): MessageRecord[] {
  return outbox.map(({ id, topic, runId, runSeq, type, payload }) => {
    return { topic, partition: 0, id, key: runId, runSeq, type, value: payload };
  });
}

class Writer {
  private readonly tasks: TaskRecord[] = [];
  private readonly journal: JournalRecord[] = [];
  private readonly ledger: LedgerRecord[] = [];
  private readonly outbox: OutboxRecord[] = [];

  step(runId: string, node: string): void {
    const task = this.task(runId, node, { status: 'SUCCEEDED' });
    this.attempt(task, 1, 'finished', 'node.succeeded');
  }

  lostThenDone(runId: string, node: string): void {
    const task = this.task(runId, node, { status: 'SUCCEEDED', attempt: 2 });
    this.attempt(task, 1, 'finished', 'task.lease_lost');
    this.attempt(task, 2, 'finished', 'node.succeeded');
  }

  refused(runId: string, node: string): void {
    const task = this.task(runId, node, { status: 'FAILED' });
    this.attempt(task, 1, 'failed', 'node.failed');
  }

  undo(runId: string, node: string): void {
    const task = this.task(runId, node, { status: 'SUCCEEDED', kind: 'compensate', taskId: `${runId}-${node}-undo` });
    this.attempt(task, 1, 'finished', 'node.compensated');
  }

  end(runId: string, type: string): void {
    this.publish(runId, 'baton.default.events', type);
  }

  records(): Records {
    const outcome = (runId: string, orderId: string, kind: string, status: string): OrderOutcome => {
      const output = { orderId, paymentId: `P-${orderId}`, tracking: `T-${orderId}`, invoiceId: `I-${orderId}` };
      return { runId, orderId, kind, expected: status, actual: status, output: status === 'SUCCEEDED' ? output : undefined }; // prettier-ignore
    };
    const run = (runId: string, status: string) => {
      const outboxSeq = this.outbox.filter((row) => row.runId === runId).length;
      return { runId, status, outboxSeq, stuckReason: null, timers: 0 };
    };
    return {
      outcomes: [outcome('ok', 'A', 'accepted', 'SUCCEEDED'), outcome('undone', 'B', 'refused', 'COMPENSATED')],
      runs: [run('ok', 'SUCCEEDED'), run('undone', 'COMPENSATED')],
      tasks: this.tasks,
      journal: this.journal,
      outbox: this.outbox,
      deadOutboxRows: 0,
      ledger: this.ledger,
      messages: messagesOf(this.outbox),
    };
  }

  private task(runId: string, node: string, given: Partial<TaskRecord>): TaskRecord {
    const task: TaskRecord = { taskId: `${runId}-${node}`, runId, node, kind: 'forward', status: 'SUCCEEDED', attempt: 1, unknownOutcome: false, ...given }; // prettier-ignore
    this.tasks.push(task);
    return task;
  }

  private attempt(task: TaskRecord, attempt: number, event: 'finished' | 'failed', end: string): void {
    const { taskId, runId, node, kind } = task;
    const code = event === 'failed' ? 'SHIPPING_REFUSED' : null;
    this.journal.push({ runId, kind: 'task.scheduled', taskId, attempt, code: null }, { runId, kind: end, taskId, attempt, code }); // prettier-ignore
    const row = { runId, node, kind, attempt, key: `${runId}/${node}/${kind}`, pid: 1 };
    this.ledger.push({ ...row, event: 'started' }, { ...row, event });
    this.publish(runId, 'baton.default.tasks.q', 'task');
    this.publish(runId, 'baton.default.events', end);
  }

  private publish(runId: string, topic: string, type: string): void {
    const runSeq = this.outbox.filter((row) => row.runId === runId).length + 1;
    this.outbox.push({ id: `${runId}-${runSeq}`, runId, runSeq, topic, type, payload: `${runId} ${runSeq}` });
  }
}
