import type { ClaimableTask } from '@baton/engine';
import type { ClaimablePeek } from './ports.js';

/** Keeps, for as long as a peek lives, the task that it is of. */
export class Peeks {
  private readonly tasks = new WeakMap<ClaimablePeek, ClaimableTask>();

  of(task: ClaimableTask): ClaimablePeek {
    const { runId, taskId, attempt, definitionId, definitionVersion } = task;
    const peek = { runId, taskId, attempt, sagaId: definitionId, sagaVersion: definitionVersion };
    this.tasks.set(peek, task);
    return peek;
  }

  taskOf(peek: ClaimablePeek): ClaimableTask | undefined {
    return this.tasks.get(peek);
  }
}
