import { isDefinitionId, parseDefinition } from '@baton/core';
import { templateCompiler } from '@baton/expressions';
import { checkOrder } from './check-order.js';
import { compileSaga, queueOf, type ReadSaga } from './compile-saga.js';
import { FaultList } from './faults.js';
import { frozenCopy, frozenMap } from './freeze.js';
import { isRecord, readDuration, readRetry, refuseOthers } from './read-policies.js';
import { readSteps, type ReadStep } from './read-steps.js';
import type { Saga, SagaStep } from './saga.js';
import type { AnyStep, CompensateContext, Outputs, SagaOptions, StepContext } from './types.js';

const FIELDS = ['id', 'version', 'input', 'timeout', 'compensationTimeout', 'compensation', 'retry', 'steps'];
const MAX_VERSION = 2_147_483_647;

/** Of all copies of this package that a process may have loaded. */
const MADE_HERE = Symbol.for('@baton/saga/defined');

/**
 * Checks a saga and compiles it. What it answers is frozen, and a copy: changing the options later changes nothing.
 *
 * Throws a `SagaError` that lists every fault in `details`, each with a JSON pointer and a stable code: kind
 * `conflict` when steps share a name and nothing else is wrong, `invalid` otherwise.
 *
 * Name the types to have contexts and outputs typed: `defineSaga<OrderInput, { reserve: Reservation }>({ … })`. Nothing is
 * inferred: without them inputs and outputs are unknown.
 */
export function defineSaga<I = unknown, O = Outputs>(
  options: SagaOptions<NoInfer<I>, NoInfer<O>>,
): Saga<NoInfer<I>, NoInfer<O>> {
  const faults = new FaultList();
  if (!isRecord(options)) {
    faults.add('WRONG_TYPE', [], 'expected the options of a saga: { id, steps }');
    faults.throwIfAny('this');
  }
  const read = readSaga(options as unknown as Readonly<Record<string, unknown>>, faults);
  const spec = faults.details.length > 0 ? '' : compileSaga(read);
  if (spec !== '') checkCompiled(spec, faults);
  faults.throwIfAny(read.id === '' ? 'this' : read.id);
  const written = options as unknown as SagaOptions<unknown, Outputs>;
  const saga: Saga<I, O> = {
    id: read.id,
    version: read.version,
    options: frozenCopy(written),
    spec,
    queue: queueOf(read.id),
    steps: frozenMap(read.steps.map((step, index) => [step.name, runnable(step, written.steps[index], index)])),
  };
  Object.defineProperty(saga, MADE_HERE, { value: true });
  return Object.freeze(saga);
}

/** Was it made by `defineSaga`? */
export function isSaga(value: unknown): value is Saga {
  return typeof value === 'object' && value !== null && Reflect.get(value, MADE_HERE) === true;
}

function readSaga(options: Readonly<Record<string, unknown>>, faults: FaultList): ReadSaga {
  refuseOthers(options, FIELDS, [], faults);
  const { id, version = 1, compensation = 'sequential', input } = options;
  const isId = typeof id === 'string' && isDefinitionId(id);
  if (!isId) faults.add('INVALID_NAME', ['id'], 'lower-case letters, digits, "_" and "-", at most 63');
  const isVersion = Number.isSafeInteger(version) && (version as number) >= 1 && (version as number) <= MAX_VERSION;
  if (!isVersion) faults.add('OUT_OF_RANGE', ['version'], `expected a whole number from 1 to ${MAX_VERSION}`);
  if (compensation !== 'sequential' && compensation !== 'parallel') {
    faults.add('OUT_OF_RANGE', ['compensation'], 'expected sequential or parallel');
  }
  if (input !== undefined && !isRecord(input)) {
    faults.add('WRONG_TYPE', ['input'], 'expected a JSON Schema: an object');
  }
  const retry = readRetry(options['retry'], ['retry'], faults);
  const steps = readSteps(options['steps'], retry, faults);
  checkOrder(steps, faults);
  return {
    id: isId ? id : '',
    version: isVersion ? (version as number) : 1,
    inputSchema: input as object | undefined,
    timeoutMs: readDuration(options['timeout'], ['timeout'], 1, faults),
    compensationTimeoutMs: readDuration(options['compensationTimeout'], ['compensationTimeout'], 1, faults),
    compensation: compensation === 'parallel' ? 'parallel' : 'sequential',
    steps,
  };
}

/** The registry of the platform checks the same: what passes here is published there. */
function checkCompiled(spec: string, faults: FaultList): void {
  const parsed = parseDefinition(spec, templateCompiler);
  if (parsed.ok) return;
  for (const { severity, code, pointer, message } of parsed.issues) {
    if (severity === 'error') faults.add(code, pointer.replace(/^\/nodes/, '/steps'), message);
  }
}

function runnable(step: ReadStep, written: AnyStep<unknown, Outputs> | undefined, index: number): SagaStep {
  const { name, after } = step;
  const base = { name, index, after: Object.freeze([...after]) };
  if (written === undefined || !('run' in written)) return Object.freeze({ ...base, run: null, compensate: null });
  const { run, compensate } = written as {
    readonly run: (context: StepContext) => unknown;
    readonly compensate?: ((context: CompensateContext) => unknown) | null;
  };
  return Object.freeze({ ...base, run, compensate: compensate ?? null });
}
