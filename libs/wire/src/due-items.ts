import type { internalV1 } from '@baton/contracts';
import { fireOutcome, type FireOutcome } from './enums.js';
import { Problems } from './problems.js';

/** Between the timer service and coordinators. */
export type DueRecord =
  | {
      readonly kind: 'task';
      readonly namespace: string;
      readonly runId: string;
      readonly taskId: string;
      readonly attempt: number;
    }
  | { readonly kind: 'timer'; readonly namespace: string; readonly runId: string; readonly timerId: string };

export interface FiredRecord {
  readonly outcome: FireOutcome;
  readonly reason?: string;
}

export function dueToProto(item: DueRecord): internalV1.DueItem {
  const { namespace, runId } = item;
  switch (item.kind) {
    case 'task':
      return { namespace, runId, due: { $case: 'task', value: { taskId: item.taskId, attempt: item.attempt } } };
    case 'timer':
      return { namespace, runId, due: { $case: 'timer', value: { timerId: item.timerId } } };
  }
}

/** `index` names the item in the error. */
export function dueFromProto(item: internalV1.DueItem, index: number): DueRecord {
  const at = (field: string) => `/items/${index}/${field}`;
  const problems = new Problems();
  const namespace = problems.namespace(at('namespace'), item.namespace);
  const runId = problems.uuid(at('run_id'), item.runId);
  const base = { namespace, runId };
  const due = item.due;
  if (!due) problems.add(at('due'), 'REQUIRED', 'due is required');
  else if (due.$case === 'task') {
    const taskId = problems.uuid(at('task_id'), due.value.taskId);
    const attempt = problems.count(at('attempt'), due.value.attempt);
    problems.throwIfAny();
    return { ...base, kind: 'task', taskId, attempt };
  } else {
    const timerId = problems.uuid(at('timer_id'), due.value.timerId);
    problems.throwIfAny();
    return { ...base, kind: 'timer', timerId };
  }
  problems.throwIfAny();
  throw new Error('unreachable: the problem above has thrown');
}

export function firedToProto(result: FiredRecord): internalV1.FireResult {
  return { outcome: fireOutcome.toProto(result.outcome), reason: result.reason ?? '' };
}

/** An outcome that we do not know is FAILED: the row stays for the next round. */
export function firedFromProto(result: internalV1.FireResult): FiredRecord {
  const outcome = fireOutcome.fromProto(result.outcome) ?? 'FAILED';
  return { outcome, ...(result.reason !== '' && { reason: result.reason }) };
}
