import type { RunStatus, TaskState, TaskStatus } from './state.js';

const SETTLED: ReadonlySet<TaskStatus> = new Set<TaskStatus>([
  'SUCCEEDED',
  'FAILED',
  'TIMED_OUT',
  'SKIPPED',
  'CANCELLED',
]);

export function isTerminal(status: RunStatus): boolean {
  return status !== 'RUNNING' && status !== 'COMPENSATING';
}

export function isSettled(task: TaskState): boolean {
  return SETTLED.has(task.status);
}
