import type { Saga, SagaResolver, SagaStep } from '../../definition/saga.js';
import type { SagaLogger, SagaObserver } from '../../observe/observer.js';
import { nopTracer } from '../../observe/tracer.js';
import { fakeClock } from '../../testing/fake-clock.js';
import { defaultSagaConfig, type SagaConfig } from '../config.js';
import type { LeaderGate, RuntimeParts } from '../parts.js';
import { RuntimeCore } from '../runtime.js';
import { HandRunner } from './hand-runner.js';
import { LineJournal } from './line-journal.js';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly [field: string]: unknown;
}

export class LogBook implements SagaLogger {
  readonly lines: LogLine[] = [];
  readonly debug = this.at('debug');
  readonly info = this.at('info');
  readonly warn = this.at('warn');
  readonly error = this.at('error');

  of(level: LogLine['level']): readonly string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }

  private at(level: LogLine['level']) {
    return (fields: object, message: string) => void this.lines.push({ ...fields, level, message });
  }
}

/** Every callback that was made, in order. */
export class ObserverBook implements SagaObserver {
  readonly calls: { readonly name: keyof SagaObserver; readonly fields: Readonly<Record<string, unknown>> }[] = [];
  readonly outcome = this.at('outcome');
  readonly retry = this.at('retry');
  readonly heartbeatFailure = this.at('heartbeatFailure');
  readonly tick = this.at('tick');
  readonly drive = this.at('drive');
  readonly leaderSkip = this.at('leaderSkip');

  of(name: keyof SagaObserver): readonly Readonly<Record<string, unknown>>[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.fields);
  }

  private at(name: keyof SagaObserver) {
    return (fields: object) => void this.calls.push({ name, fields: { ...fields } });
  }
}

/** As the runtime sees a definition: a name, and who comes before whom. */
export function sagaOf(steps: Readonly<Record<string, readonly string[]>>, id = 'order'): Saga {
  const entries = Object.entries(steps).map(([name, after], index): [string, SagaStep] => [
    name,
    { name, index, after, run: () => null, compensate: null },
  ]);
  return { id, version: 1, options: { id, steps: [] }, spec: '{}', queue: id, steps: new Map(entries) };
}

export function resolverOf(...sagas: readonly Saga[]): SagaResolver {
  return { resolve: (id) => sagas.find((saga) => saga.id === id), all: () => sagas };
}

const LINE = sagaOf({ a: [], b: ['a'], c: ['b'] });

export interface FixtureOptions {
  readonly config?: Partial<SagaConfig>;
  readonly concurrency?: number;
  readonly gate?: LeaderGate;
  readonly saga?: Saga;
  readonly parts?: Partial<RuntimeParts>;
}

/** A runtime whose journal, steps and time are the test's. */
export function runtimeFixture(options: FixtureOptions = {}) {
  const journal = new LineJournal();
  const runner = new HandRunner();
  const clock = fakeClock();
  const logger = new LogBook();
  const observer = new ObserverBook();
  const kicks = { relay: 0 };
  const parts: RuntimeParts = {
    ...{ journal, runner, clock, logger, observer },
    resolver: resolverOf(options.saga ?? LINE),
    due: { readDue: () => Promise.resolve({ items: [], nextDueInMs: null }), fireDue: () => Promise.resolve([]) },
    role: { hold: () => Promise.resolve(true), isActive: true, release: () => Promise.resolve() },
    upkeep: null,
    tracer: nopTracer,
    config: { ...defaultSagaConfig, pollIntervalMs: 3_600_000, ...options.config },
    concurrency: options.concurrency ?? 4,
    gate: options.gate ?? { mode: 'unsafe_no_leader', acquireLead: () => Promise.resolve(null) },
    random: () => 0.5,
    prepare: () => Promise.resolve(),
    ...options.parts,
  };
  const runtime = new RuntimeCore(parts, { kick: () => (kicks.relay += 1) });
  return { runtime, journal, runner, clock, logger, observer, kicks, parts };
}

export const succeeded = { outcome: 'succeeded', output: 'null' } as const;
