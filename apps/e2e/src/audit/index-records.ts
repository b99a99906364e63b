import type { JournalRecord, LedgerRecord, Records, TaskRecord } from './records.js';

/** One call of a handler, as the ledger tells it. */
export interface HandlerCall {
  readonly starts: number;
  readonly finishes: number;
  readonly failures: number;
  readonly rows: readonly LedgerRecord[];
}

/** The records, arranged for questions about one step or one attempt. */
export interface Indexed extends Records {
  /** By run, node and kind. The example's nodes run once: each has one row for each kind. */
  readonly taskOf: ReadonlyMap<string, TaskRecord>;
  readonly tasksOfRun: ReadonlyMap<string, readonly TaskRecord[]>;
  /** Ledger rows of a step by attempt. */
  readonly callsOf: ReadonlyMap<string, ReadonlyMap<number, HandlerCall>>;
  /** Journal of a task by attempt: in the order of the journal. */
  readonly historyOf: ReadonlyMap<string, readonly JournalRecord[]>;
}

export function stepKey(step: { readonly runId: string; readonly node: string; readonly kind: string }): string {
  return `${step.runId} ${step.node} ${step.kind}`;
}

export function attemptKey(taskId: string, attempt: number): string {
  return `${taskId} ${attempt}`;
}

export function indexRecords(records: Records): Indexed {
  const ledgerByStep = groupBy(records.ledger, stepKey);
  const callsOf = new Map(
    [...ledgerByStep].map(([step, rows]) => [
      step,
      new Map([...groupBy(rows, (row) => row.attempt)].map(([attempt, own]) => [attempt, callOf(own)])),
    ]),
  );
  return {
    ...records,
    taskOf: new Map(records.tasks.map((task) => [stepKey(task), task])),
    tasksOfRun: groupBy(records.tasks, (task) => task.runId),
    callsOf,
    historyOf: groupBy(
      records.journal.filter((row) => row.taskId !== null && row.attempt !== null),
      (row) => attemptKey(row.taskId ?? '', row.attempt ?? 0),
    ),
  };
}

function callOf(rows: readonly LedgerRecord[]): HandlerCall {
  const count = (event: LedgerRecord['event']): number => rows.filter((row) => row.event === event).length;
  return { starts: count('started'), finishes: count('finished'), failures: count('failed'), rows };
}

export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
