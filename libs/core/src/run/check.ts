import type { Dag } from '../definition/model.js';
import { RunRows } from './rows.js';
import { isSettled, isTerminal } from './status.js';
import type { RunState, TaskState } from './state.js';

/** An invariant that a state breaks (docs/reference/rules.md). There are none; whoever finds one has found a bug of ours. */
export interface Violation {
  readonly invariant: 'I4' | 'I5' | 'I6' | 'I10' | 'R11' | 'R15' | 'R18' | 'R19';
  /** Stable: the doctor's codes (docs/reference/doctor.md). */
  readonly code: ViolationCode;
  readonly message: string;
  readonly nodeId?: string;
}

export type ViolationCode =
  | 'GENERATION_OUT_OF_RANGE'
  | 'OPEN_WITHOUT_ATTEMPT'
  | 'CUT_OFF_WITHOUT_COMPENSATION'
  | 'OPEN_ATTEMPT_HAS_REPORT'
  | 'NODE_STARTED_TWICE'
  | 'ATTEMPT_USED_TWICE'
  | 'OPEN_TASK_IN_ENDED_RUN'
  | 'CAUSE_DIFFERS'
  | 'UNDO_IN_FORWARD_PHASE'
  | 'FORWARD_TASK_WHILE_UNDOING'
  | 'UNDO_RESULT_DIFFERS'
  | 'NOTHING_WAKES_RUN'
  | 'NODE_NOT_STARTED'
  | 'UNDO_WITHOUT_STEP'
  | 'UNDO_OUT_OF_ORDER'
  | 'UNDO_BEFORE_END_OF_STEP'
  | 'UNDOS_NOT_ONE_BY_ONE';

/** What can be seen of the invariants on the state of one run, on the version that it is pinned to. */
export function check(state: RunState, dag: Dag): readonly Violation[] {
  const rows = new RunRows(dag, state);
  return [
    ...checkRows(state),
    ...checkGenerations(state),
    ...checkPhase(state),
    ...checkWakeUp(state, dag, rows),
    ...checkUndos(dag, rows),
  ];
}

function checkRows(state: RunState): Violation[] {
  const found: Violation[] = [];
  for (const task of state.tasks.values()) {
    const { nodeId, status } = task;
    if (task.generation < 1 || task.generation > state.epoch) {
      found.push({
        invariant: 'R15',
        code: 'GENERATION_OUT_OF_RANGE',
        message: `generation ${task.generation} in epoch ${state.epoch}`,
        nodeId,
      });
    }
    if ((status === 'SCHEDULED' || status === 'BACKOFF') && task.attempt < 1) {
      found.push({ invariant: 'I5', code: 'OPEN_WITHOUT_ATTEMPT', message: `${status} without an attempt`, nodeId });
    }
    if (task.cutOff && (status !== 'SCHEDULED' || state.status !== 'COMPENSATING')) {
      found.push({
        invariant: 'R18',
        code: 'CUT_OFF_WITHOUT_COMPENSATION',
        message: `cut off, but ${status} in a run that is ${state.status}`,
        nodeId,
      });
    }
    if (status === 'SCHEDULED' && task.reportHash !== null) {
      found.push({ invariant: 'I5', code: 'OPEN_ATTEMPT_HAS_REPORT', message: 'an open attempt has a report', nodeId });
    }
  }
  return found;
}

/** R11, R15: one row for each (node, item, kind, generation), and attempts that rise with the generations. */
function checkGenerations(state: RunState): Violation[] {
  const found: Violation[] = [];
  const byExecution = new Map<string, TaskState[]>();
  for (const task of state.tasks.values()) {
    const key = `${task.kind} ${task.item} ${task.nodeId}`;
    byExecution.set(key, [...(byExecution.get(key) ?? []), task]);
  }
  for (const group of byExecution.values()) {
    group.sort((a, b) => a.generation - b.generation);
    let highest = 0;
    const attempts = new Set<number>();
    group.forEach((task, index) => {
      const { nodeId } = task;
      if (index > 0 && group[index - 1]?.generation === task.generation) {
        found.push({
          invariant: 'R15',
          code: 'NODE_STARTED_TWICE',
          message: `two ${task.kind} rows of generation ${task.generation}`,
          nodeId,
        });
      }
      // Undos of one node go newest generation first, so theirs only have to differ.
      const reused = task.kind === 'forward' ? task.attempt <= highest : attempts.has(task.attempt);
      if (task.attempt > 0 && reused) {
        found.push({
          invariant: 'R11',
          code: 'ATTEMPT_USED_TWICE',
          message: `attempt ${task.attempt} of generation ${task.generation}`,
          nodeId,
        });
      }
      highest = Math.max(highest, task.attempt);
      attempts.add(task.attempt);
    });
  }
  return found;
}

function checkPhase(state: RunState): Violation[] {
  const found: Violation[] = [];
  const open = [...state.tasks.values()].filter((task) => !isSettled(task));
  if (isTerminal(state.status) && open.length > 0) {
    found.push({
      invariant: 'I4',
      code: 'OPEN_TASK_IN_ENDED_RUN',
      message: `${state.status} with ${open.length} open tasks`,
    });
  }
  if (state.status === 'RUNNING') {
    if (state.cause !== null) found.push({ invariant: 'R19', code: 'CAUSE_DIFFERS', message: 'RUNNING with a cause' });
    if (open.some((task) => task.kind === 'compensate')) {
      found.push({
        invariant: 'I10',
        code: 'UNDO_IN_FORWARD_PHASE',
        message: 'an undo is open while the run goes forward',
      });
    }
  }
  if (state.status === 'COMPENSATING') {
    if (state.cause === null)
      found.push({ invariant: 'R19', code: 'CAUSE_DIFFERS', message: 'COMPENSATING without a cause' });
    const forward = open.find((task) => task.kind === 'forward' && !task.cutOff);
    if (forward !== undefined) {
      found.push({
        invariant: 'R18',
        code: 'FORWARD_TASK_WHILE_UNDOING',
        message: `${forward.nodeId} goes on while the run is undone`,
        nodeId: forward.nodeId,
      });
    }
  }
  const undoFailed = state.undo === 'FAILED';
  if (undoFailed !== (state.status === 'COMPENSATION_FAILED')) {
    found.push({
      invariant: 'R19',
      code: 'UNDO_RESULT_DIFFERS',
      message: `undo ${state.undo}, but the run is ${state.status}`,
    });
  }
  return found;
}

/** I6 (B46): something will wake the run, and nothing that could go on waits for nothing. */
function checkWakeUp(state: RunState, dag: Dag, rows: RunRows): Violation[] {
  if (isTerminal(state.status) || state.journalSeq === 0) return [];
  const wakes = [...state.tasks.values()].some(
    (task) => task.status === 'SCHEDULED' || task.status === 'BACKOFF' || task.status === 'WAITING',
  );
  if (!wakes)
    return [{ invariant: 'I6', code: 'NOTHING_WAKES_RUN', message: 'no task, timer or wait will wake the run' }];
  if (state.status !== 'RUNNING') return [];
  const found: Violation[] = [];
  for (const nodeId of dag.order) {
    const before = dag.nodes.get(nodeId)?.after ?? [];
    const ready = before.every((from) => {
      const row = rows.current(from);
      return row !== undefined && isSettled(row);
    });
    if (ready && rows.current(nodeId) === undefined) {
      found.push({ invariant: 'I6', code: 'NODE_NOT_STARTED', message: `${nodeId} may start and has not`, nodeId });
    }
  }
  return found;
}

/** I10: each undo has its step, and none starts before the undos of all that lies below it have settled. */
function checkUndos(dag: Dag, rows: RunRows): Violation[] {
  const found: Violation[] = [];
  let underWay = 0;
  const openBelow = new Set<string>();
  for (let i = dag.order.length - 1; i >= 0; i -= 1) {
    const nodeId = dag.order[i] ?? '';
    const undos = rows.of(nodeId, 'compensate');
    const blocked = (dag.successors.get(nodeId) ?? []).some((next) => openBelow.has(next));
    if (blocked || undos.some((undo) => !isSettled(undo))) openBelow.add(nodeId);
    for (const undo of undos) {
      const step = rows.of(nodeId, 'forward').find((row) => row.generation === undo.generation);
      if (step === undefined)
        found.push({ invariant: 'I10', code: 'UNDO_WITHOUT_STEP', message: 'an undo without a step', nodeId });
      if (undo.status === 'PLANNED' || isSettled(undo)) continue;
      underWay += 1;
      if (blocked)
        found.push({
          invariant: 'I10',
          code: 'UNDO_OUT_OF_ORDER',
          message: `${nodeId} is undone before what lies below it`,
          nodeId,
        });
      if (step !== undefined && !isSettled(step)) {
        found.push({
          invariant: 'R18',
          code: 'UNDO_BEFORE_END_OF_STEP',
          message: `${nodeId} is undone while its step goes on`,
          nodeId,
        });
      }
    }
  }
  if (underWay > 1 && dag.spec.compensation === 'sequential') {
    found.push({
      invariant: 'I10',
      code: 'UNDOS_NOT_ONE_BY_ONE',
      message: `${underWay} undos at a time, but the definition says one by one`,
    });
  }
  return found;
}
