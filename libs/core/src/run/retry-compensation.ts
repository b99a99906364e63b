import { armCompensationTimeout } from './end-forward.js';
import type { CompensateRun } from './events.js';
import { failedUndos } from './finish.js';
import { APPLIED, refused, type Outcome, type Transition } from './transition.js';
import { advanceUndo } from './undo.js';

/** R20: opens an epoch that tries the failed undos again, and only those. Their generation stays (R15). */
export function onCompensateRun(t: Transition, event: CompensateRun): Outcome {
  const { status, epoch, definitionVersion } = t.state;
  if (status === 'COMPENSATING') return refused('ALREADY_COMPENSATING', 'the run is being undone already');
  if (status !== 'COMPENSATION_FAILED') return refused('NOTHING_TO_COMPENSATE', `the run is ${status}`);
  const failed = failedUndos(t.state);
  t.apply({
    type: 'ReopenRun',
    epoch: epoch + 1,
    status: 'COMPENSATING',
    definitionVersion,
    input: null,
    resetNodes: [],
    commandId: event.commandId,
  });
  t.journal('run.reopened', { detail: 'retry of the compensation' });
  for (const { taskId, nodeId, attempt } of failed) {
    t.apply({ type: 'ReplanUndo', taskId, nodeId, attempt });
    t.journal('undo.planned', {}, t.task(taskId));
  }
  armCompensationTimeout(t);
  advanceUndo(t);
  return APPLIED;
}
