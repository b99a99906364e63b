import { Injectable } from '@nestjs/common';
import type {
  AnyStep,
  CompensateContext,
  Duration,
  Outputs,
  RetryPolicy,
  SagaOptions,
  SignalStep,
  StepContext,
  StepDefinition,
} from '@baton/saga';

/** Everything of a saga but its steps: those are the methods of the class. */
export type SagaDecoratorOptions = Omit<SagaOptions<unknown, Outputs>, 'steps'>;

export interface StepOptions {
  /** Default: the name of the method. Runs in flight know their steps by it: give it one before you rename a method. */
  readonly name?: string;
  /** Names of the steps that come first. Default: the step written above. `[]` = starts with the run. */
  readonly after?: readonly string[];
  readonly timeout?: Duration;
  readonly retry?: RetryPolicy;
}

export interface CompensateOptions {
  readonly timeout?: Duration;
  readonly retry?: RetryPolicy;
}

export interface WaitForOptions {
  /** Default: the name of the property. */
  readonly name?: string;
  readonly after?: readonly string[];
  readonly timeout?: Duration;
}

/** What the decorators of one class have said, in the order of its members. */
export interface SagaParts {
  readonly members: readonly SagaMember[];
}

export type SagaMember =
  | { readonly kind: 'step'; readonly name: string; readonly method: string; readonly options: StepOptions }
  | { readonly kind: 'wait'; readonly name: string; readonly waitFor: string; readonly options: WaitForOptions }
  | { readonly kind: 'undo'; readonly step: string; readonly method: string; readonly options: CompensateOptions };

const members = new WeakMap<object, SagaMember[]>();
const sagas = new WeakMap<object, SagaDecoratorOptions>();

/**
 * A provider whose methods are the steps of a saga. Injectable as it is; it must be a singleton, since its steps run
 * outside of any request.
 */
export function Saga(options: SagaDecoratorOptions): ClassDecorator {
  return (target) => {
    sagas.set(target, options);
    Injectable()(target);
  };
}

/** A step of the saga. What the method returns is the step's output, what it throws its failure. */
export function Step(options: StepOptions = {}) {
  return <T extends (context: StepContext<never, never>) => unknown>(
    target: object,
    method: string,
    _descriptor: TypedPropertyDescriptor<T>,
  ): void => {
    add(target, { kind: 'step', name: options.name ?? method, method, options });
  };
}

/** The undo of a step, by the step's name. Must be idempotent. */
export function Compensate(step: string, options: CompensateOptions = {}) {
  return <T extends (context: CompensateContext<never, never, never>) => unknown>(
    target: object,
    method: string,
    _descriptor: TypedPropertyDescriptor<T>,
  ): void => {
    add(target, { kind: 'undo', step, method, options });
  };
}

/** On a property: the saga waits here for a signal of this name, whose payload is the step's output. */
export function WaitFor(waitFor: string, options: WaitForOptions = {}) {
  return (target: object, property: string): void => {
    add(target, { kind: 'wait', name: options.name ?? property, waitFor, options });
  };
}

export function sagaOptionsOf(type: object): SagaDecoratorOptions | undefined {
  return sagas.get(type);
}

/**
 * The saga that a class describes. `instanceOf` is asked when a step runs, so the class need not have been instantiated.
 * Throws when an undo names no step; everything else is for `defineSaga` to check.
 */
export function sagaFrom(type: NamedClass, instanceOf: () => object): SagaOptions<unknown, Outputs> {
  const options = sagas.get(type);
  if (options === undefined) throw new Error(`${type.name} has no @Saga`);
  const own = membersOf(type);
  const undos = new Map(own.flatMap((member) => (member.kind === 'undo' ? [[member.step, member] as const] : [])));
  const steps = own.flatMap((member): readonly AnyStep<unknown, Outputs>[] => {
    if (member.kind === 'undo') return [];
    if (member.kind === 'wait') return [waitOf(member)];
    const undo = undos.get(member.name);
    undos.delete(member.name);
    return [stepOf(member, undo, instanceOf)];
  });
  const [stray] = undos.values();
  if (stray !== undefined)
    throw new Error(`@Compensate('${stray.step}') on ${type.name}.${stray.method}: there is no such step`);
  return { ...options, steps };
}

export interface NamedClass {
  readonly name: string;
  readonly prototype: unknown;
}

function stepOf(
  { name, method, options }: Extract<SagaMember, { kind: 'step' }>,
  undo: Extract<SagaMember, { kind: 'undo' }> | undefined,
  instanceOf: () => object,
): StepDefinition<unknown, Outputs> {
  const { after, timeout, retry } = options;
  return {
    name,
    run: (context) => call(instanceOf(), method, context),
    ...(after !== undefined && { after }),
    ...(timeout !== undefined && { timeout }),
    ...(retry !== undefined && { retry }),
    ...(undo !== undefined && {
      compensate: (context) => call(instanceOf(), undo.method, context),
      ...(undo.options.timeout !== undefined && { compensateTimeout: undo.options.timeout }),
      ...(undo.options.retry !== undefined && { compensateRetry: undo.options.retry }),
    }),
  };
}

function waitOf({ name, waitFor, options }: Extract<SagaMember, { kind: 'wait' }>): SignalStep<Outputs> {
  const { after, timeout } = options;
  return { name, waitFor, ...(after !== undefined && { after }), ...(timeout !== undefined && { timeout }) };
}

/** `this` stays the provider. */
function call(instance: object, method: string, context: unknown): unknown {
  const run: unknown = Reflect.get(instance, method);
  if (typeof run !== 'function') throw new TypeError(`${method} is not a method`);
  return Reflect.apply(run, instance, [context]) as unknown;
}

function add(target: object, member: SagaMember): void {
  const own = members.get(target) ?? [];
  own.push(member);
  members.set(target, own);
}

/** Of the class and those that it extends, theirs first; what is decorated again replaces what it overrides. */
function membersOf(type: NamedClass): readonly SagaMember[] {
  const chain: object[] = [];
  for (let at: unknown = type.prototype; isObject(at); at = Object.getPrototypeOf(at)) chain.unshift(at);
  const all = chain.map((prototype) => members.get(prototype) ?? []);
  return all.reduce(
    (inherited, own) => [
      ...inherited.map((member) => own.find((other) => keyOf(other) === keyOf(member)) ?? member),
      ...own.filter((member) => !inherited.some((other) => keyOf(other) === keyOf(member))),
    ],
    [],
  );
}

function keyOf(member: SagaMember): string {
  return member.kind === 'undo' ? `undo of ${member.step}` : `step ${member.name}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
