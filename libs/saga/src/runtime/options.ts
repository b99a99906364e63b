import type { Registry } from 'prom-client';
import type { SagaResolver } from '../definition/saga.js';
import type { Clock } from '../executor/types.js';
import { throwIfUnfit, unfitNumbers } from '../executor/lease-times.js';
import { SagaError, type SagaErrorDetail } from '../journal/errors.js';
import type { Locker } from '../leader/locker.js';
import type { SagaLogger, SagaObserver } from '../observe/observer.js';
import type { SagaTracer } from '../observe/tracer.js';
import { checkSagaConfig, defaultSagaConfig, type SagaConfig } from './config.js';
import type { RelayHook } from './dispatcher.js';

/** What every runtime is given, wherever its journal is. */
export interface SagaRuntimeSettings {
  /** The sagas that this process runs. Asked again at each start. */
  readonly registry: SagaResolver;
  /** Default `default`. Runs of other namespaces are not seen. */
  readonly namespace?: string;
  /** As a whole: nothing is merged with the defaults. */
  readonly config?: SagaConfig;
  /** Steps that run at once in this process; 1 or more. Default: `claimBatchSize`. */
  readonly concurrency?: number;
  /** Locks come before leases. Default: none. */
  readonly leaderElect?: Locker;
  readonly observer?: SagaObserver;
  /** The shape of pino's. Default: warnings and errors, as JSON lines on standard error. */
  readonly logger?: SagaLogger;
  readonly tracer?: SagaTracer;
  /** Told when events were committed here: a relay, a subscriber that polls. */
  readonly relay?: RelayHook;
  /** A registry of prom-client, for the metrics of this runtime. Default: none are kept. */
  readonly metrics?: Registry;
  /** Label of the metrics: what this process is part of. Default `default`. */
  readonly cell?: string;
  readonly clock?: Clock;
  /** In [0, 1). */
  readonly random?: () => number;
}

interface Shape {
  readonly name: keyof SagaRuntimeSettings;
  /** Methods that it must have; none = it is a function itself. */
  readonly methods: readonly string[];
  readonly isRequired?: true;
}

const SHAPES: readonly Shape[] = [
  { name: 'registry', methods: ['resolve', 'all'], isRequired: true },
  { name: 'leaderElect', methods: ['acquire'] },
  { name: 'logger', methods: ['debug', 'info', 'warn', 'error'] },
  { name: 'tracer', methods: ['span'] },
  { name: 'metrics', methods: ['registerMetric'] },
  { name: 'relay', methods: ['kick'] },
  { name: 'clock', methods: ['now', 'after'] },
  { name: 'random', methods: [] },
];

/**
 * C2, L1: every part that is missing or cannot do what it is for, by name and at once. An option that is there but null is
 * a mistake of whoever made it, and never the same as none.
 */
export function checkSettings(settings: SagaRuntimeSettings): void {
  const wrong = SHAPES.flatMap((shape) => findingOf(shape, settings[shape.name]));
  if (wrong.length > 0) {
    const all = wrong.map(({ message }) => message).join('; ');
    throw new SagaError('invalid', 'PART_MISSING', `a saga runtime cannot be made of this: ${all}`, { details: wrong });
  }
  const { config = defaultSagaConfig, concurrency = 1 } = settings;
  checkSagaConfig(config);
  throwIfUnfit(unfitNumbers({ concurrency }, ['concurrency']));
}

function findingOf({ name, methods, isRequired }: Shape, value: unknown): readonly SagaErrorDetail[] {
  if (value === undefined && isRequired !== true) return [];
  const needs = methods.length === 0 ? 'must be a function' : `must have ${methods.join(', ')}`;
  const isFit = methods.length === 0 ? typeof value === 'function' : methods.every((method) => has(value, method));
  if (isFit) return [];
  const message = value === undefined || value === null ? `${name} is missing` : `${name} ${needs}`;
  return [{ pointer: `/${name}`, code: 'PART_MISSING', message }];
}

function has(value: unknown, method: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, method) === 'function';
}
