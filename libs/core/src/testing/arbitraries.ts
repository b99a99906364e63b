import * as fc from 'fast-check';
import type { Dag, NodeSpec } from '../definition/model.js';
import { definition, task, template, wait } from './definitions.js';

const SECOND_MS = 1_000;

const retry = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  initialIntervalMs: fc.constantFrom(0, SECOND_MS),
  jitter: fc.constantFrom(0, 0.2),
  nonRetryable: fc.constantFrom([], ['FATAL'], ['TIMEOUT']),
});

const timeouts = fc.record({
  scheduleToStartMs: fc.constantFrom(null, 10 * SECOND_MS),
  startToCloseMs: fc.constantFrom(20 * SECOND_MS, 3_600 * SECOND_MS),
  heartbeatMs: fc.constant(5 * SECOND_MS),
  scheduleToCloseMs: fc.constantFrom(null, 90 * SECOND_MS),
});

const compensate = fc.record({ retry, timeouts });

const compensateOn = fc.constantFrom<('SUCCEEDED' | 'UNKNOWN' | 'FAILED')[]>(
  ['SUCCEEDED', 'UNKNOWN'],
  ['SUCCEEDED', 'UNKNOWN'],
  ['SUCCEEDED'],
  ['SUCCEEDED', 'UNKNOWN', 'FAILED'],
);

/** What a node is made of, before it has an id and edges. */
const nodeShape = fc.record({
  isWait: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  edges: fc.array(fc.nat(), { maxLength: 3 }),
  retry,
  timeouts,
  compensate: fc.option(compensate, { nil: undefined, freq: 3 }),
  compensateOn,
  /** Reads the output of its first way in; a missing one fails the node. */
  readsOutput: fc.boolean(),
  readsInput: fc.boolean(),
  waitTimeoutMs: fc.constantFrom(null, 15 * SECOND_MS),
  signal: fc.constantFrom('go', 'stop'),
});

type NodeShape = typeof nodeShape extends fc.Arbitrary<infer T> ? T : never;

function nodeOf(shape: NodeShape, index: number): NodeSpec {
  const id = `n${index}`;
  const after = index === 0 ? [] : [...new Set(shape.edges.map((edge) => `n${edge % index}`))];
  if (shape.isWait) return wait(id, { after, signal: shape.signal, timeoutMs: shape.waitTimeoutMs });
  const source = shape.readsOutput ? after[0] : undefined;
  const input = template(
    { ...(shape.readsInput ? { input: true as const } : {}), nodes: source === undefined ? [] : [source] },
    (scope) => (source === undefined ? (scope.input ?? 'null') : scope.output(source)),
  );
  const { retry: retryPolicy, timeouts: timeoutPolicy, compensate: undo, compensateOn: on } = shape;
  return task(id, {
    after,
    input,
    retry: retryPolicy,
    timeouts: timeoutPolicy,
    ...(undo === undefined ? {} : { compensate: undo, compensateOn: on }),
  });
}

const anySettings = fc.record({
  shapes: fc.array(nodeShape, { minLength: 1, maxLength: 7, size: 'max' }),
  deadlineMs: fc.constantFrom(null, null, 40 * SECOND_MS),
  onDeadline: fc.constantFrom('compensate' as const, 'expire' as const),
  compensation: fc.constantFrom('parallel' as const, 'sequential' as const),
  compensationTimeoutMs: fc.constantFrom(null, null, 60 * SECOND_MS),
  readsLast: fc.boolean(),
});

/** Random graphs of tasks and waits with random policies. Versions of one definition have nothing else in common. */
export const anyDag = dagOf(1);
export const anyNextDag = dagOf(2);

function dagOf(version: number): fc.Arbitrary<Dag> {
  return anySettings.map(({ shapes, readsLast, ...settings }) => {
    const last = `n${shapes.length - 1}`;
    const output = readsLast ? template({ nodes: [last] }, (scope) => scope.output(last)) : null;
    return definition(shapes.map(nodeOf), { ...settings, version, output });
  });
}
export interface Step {
  readonly what:
    | 'lease'
    | 'complete'
    | 'fail'
    | 'release'
    | 'defer'
    | 'heartbeat'
    | 'stale-report'
    | 'repeat-report'
    | 'time'
    | 'early-wake'
    | 'gone-timer'
    | 'signal'
    | 'cancel'
    | 'retry'
    | 'retry-compensation'
    | 'start-again';
  /** Chooses among what there is to choose. */
  readonly pick: number;
  readonly flag: boolean;
}

const often = ['lease', 'complete', 'fail', 'time'] as const;
const sometimes = ['release', 'defer', 'heartbeat', 'stale-report', 'repeat-report', 'early-wake', 'signal'] as const;
const rarely = ['gone-timer', 'start-again', 'cancel', 'retry', 'retry-compensation'] as const;

export const anySteps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    what: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(...often) },
      { weight: 5, arbitrary: fc.constantFrom(...sometimes) },
      { weight: 3, arbitrary: fc.constantFrom(...rarely) },
    ),
    pick: fc.nat({ max: 1_000 }),
    flag: fc.boolean(),
  }),
  { maxLength: 50, size: 'max' },
);
