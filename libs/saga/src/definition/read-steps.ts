import { isHandlerName, isNodeId } from '@baton/core';
import { type FaultList, type Path } from './faults.js';
import {
  DEFAULT_RETRY,
  DEFAULT_UNDO_RETRY,
  isRecord,
  readDuration,
  readRetry,
  refuseOthers,
  settleRetry,
  type RetrySettings,
  type WrittenRetry,
} from './read-policies.js';

/** A step with everything decided. */
export type ReadStep = TaskStep | WaitStep;

interface StepBase {
  readonly name: string;
  readonly after: readonly string[];
}

export interface TaskStep extends StepBase {
  readonly kind: 'task';
  readonly retry: RetrySettings;
  readonly timeoutMs: number | undefined;
  /** null = it cannot be undone. */
  readonly undo: { readonly retry: RetrySettings; readonly timeoutMs: number | undefined } | null;
}

export interface WaitStep extends StepBase {
  readonly kind: 'wait';
  readonly signal: string;
  readonly timeoutMs: number | undefined;
}

const TASK_FIELDS = ['name', 'run', 'compensate', 'timeout', 'retry', 'compensateRetry', 'compensateTimeout', 'after'];
const WAIT_FIELDS = ['name', 'waitFor', 'timeout', 'after'];
const NAME_RULE = 'a letter, then letters, digits, "_" or "-", at most 64, and no name that every object has';

/** Each step reads the outputs of all steps before it, so a definition grows with the square of its steps. */
export const MAX_STEPS = 256;

export function readSteps(value: unknown, sagaRetry: WrittenRetry, faults: FaultList): readonly ReadStep[] {
  if (!Array.isArray(value)) {
    faults.add(value === undefined ? 'NO_STEPS' : 'WRONG_TYPE', ['steps'], 'expected an array with at least one step');
    return [];
  }
  if (value.length === 0) faults.add('NO_STEPS', ['steps'], 'a saga has at least one step');
  if (value.length > MAX_STEPS) {
    faults.add('TOO_MANY_STEPS', ['steps'], `${value.length} steps, at most ${MAX_STEPS}`);
    return [];
  }
  // Array.from: a hole is a step that is missing.
  return Array.from(value, (step: unknown, index) => {
    const before = index === 0 ? [] : [nameOf((value as unknown[])[index - 1])];
    return readStep(step, { path: ['steps', index], before, sagaRetry, faults });
  });
}

interface Place {
  readonly path: Path;
  /** The step written before. */
  readonly before: readonly string[];
  readonly sagaRetry: WrittenRetry;
  readonly faults: FaultList;
}

/** Always a step, so that the checks of the others go on; if it is not whole, that is among the faults. */
function readStep(value: unknown, place: Place): ReadStep {
  const { path, faults } = place;
  if (!isRecord(value)) {
    faults.add('WRONG_TYPE', path, 'expected a step: { name, run } or { name, waitFor }');
    return { kind: 'wait', name: '', after: [], signal: '', timeoutMs: undefined };
  }
  const name = nameOf(value);
  if (!isNodeId(name)) faults.add('INVALID_NAME', [...path, 'name'], NAME_RULE);
  const after = readAfter(value['after'], place);
  const timeoutMs = readDuration(value['timeout'], [...path, 'timeout'], 1, faults);
  const base = { name, after, timeoutMs };
  return value['waitFor'] === undefined ? readTask(value, base, place) : readWait(value, base, place);
}

type Base = Pick<TaskStep, 'name' | 'after' | 'timeoutMs'>;

function readWait(value: Readonly<Record<string, unknown>>, base: Base, { path, faults }: Place): WaitStep {
  refuseOthers(value, WAIT_FIELDS, path, faults);
  const signal = value['waitFor'];
  const isName = typeof signal === 'string' && isHandlerName(signal);
  if (!isName) faults.add('INVALID_NAME', [...path, 'waitFor'], 'letters, digits and ". _ : / -", at most 128');
  return { kind: 'wait', ...base, signal: isName ? signal : '' };
}

function readTask(value: Readonly<Record<string, unknown>>, base: Base, place: Place): TaskStep {
  const { path, sagaRetry, faults } = place;
  refuseOthers(value, TASK_FIELDS, path, faults);
  if (typeof value['run'] !== 'function') {
    faults.add('RUN_MISSING', [...path, 'run'], 'expected a function: what the step does');
  }
  const retry = settleRetry(readRetry(value['retry'], [...path, 'retry'], faults), sagaRetry, DEFAULT_RETRY);
  if (retry.isInverted && isSaidElsewhere(value['retry'])) {
    const message = "baseInterval and the maxInterval of the saga's policy contradict each other";
    faults.add('INTERVALS_INVERTED', [...path, 'retry'], message);
  }
  return { kind: 'task', ...base, retry, undo: readUndo(value, base.timeoutMs, place) };
}

/** Within one policy it is reported there. */
function isSaidElsewhere(retry: unknown): boolean {
  if (!isRecord(retry)) return false;
  return (retry['baseInterval'] === undefined) !== (retry['maxInterval'] === undefined);
}

function readUndo(value: Readonly<Record<string, unknown>>, stepTimeoutMs: number | undefined, place: Place) {
  const { path, faults } = place;
  const written = readRetry(value['compensateRetry'], [...path, 'compensateRetry'], faults);
  const timeoutMs = readDuration(value['compensateTimeout'], [...path, 'compensateTimeout'], 1, faults);
  const { compensate } = value;
  if (compensate === undefined || compensate === null) {
    for (const field of ['compensateRetry', 'compensateTimeout']) {
      if (value[field] === undefined) continue;
      faults.add('NOT_COMPENSATED', [...path, field], 'the step has no compensate');
    }
    return null;
  }
  if (typeof compensate !== 'function') {
    faults.add('WRONG_TYPE', [...path, 'compensate'], 'expected a function: what undoes the step');
  }
  const none = { maxAttempts: undefined, baseMs: undefined, maxMs: undefined, nonRetryable: undefined };
  return { retry: settleRetry(written, none, DEFAULT_UNDO_RETRY), timeoutMs: timeoutMs ?? stepTimeoutMs };
}

function readAfter(value: unknown, { path, before, faults }: Place): readonly string[] {
  if (value === undefined) return before;
  if (Array.isArray(value) && value.every((name): name is string => typeof name === 'string')) return value;
  faults.add('WRONG_TYPE', [...path, 'after'], 'expected names of steps');
  return [];
}

function nameOf(step: unknown): string {
  const name: unknown = isRecord(step) ? step['name'] : undefined;
  return typeof name === 'string' ? name : '';
}
