import type { Failure, TaskStatus } from '@baton/core';

/** Columns of one group of parameters: the arrays of a set-based statement, filled row by row. */
export type Columns<Name extends string> = { readonly [Key in Name]: unknown[] };

/** Property by property: objects of one shape, which the engine of JavaScript reads fast. */
export function columns<Name extends string>(names: readonly Name[]): Columns<Name> {
  const target: Record<string, unknown[]> = {};
  for (const name of names) target[name] = [];
  return target as Columns<Name>;
}

/** The failure of a run or a task in its three columns. */
export function pushFailure(
  target: Columns<'failureCode' | 'failureMessage' | 'failureNode'>,
  failure: Failure | null,
): void {
  target.failureCode.push(failure?.code ?? null);
  target.failureMessage.push(failure?.message ?? null);
  target.failureNode.push(failure?.nodeId ?? null);
}

const SETTLED: Readonly<Record<TaskStatus, boolean>> = {
  SCHEDULED: false,
  BACKOFF: false,
  WAITING: false,
  HELD: false,
  PLANNED: false,
  SUCCEEDED: true,
  FAILED: true,
  TIMED_OUT: true,
  SKIPPED: true,
  CANCELLED: true,
};

export function isSettled(status: TaskStatus): boolean {
  return SETTLED[status];
}
