import { parseDefinition, type TaskNode } from '@baton/core';
import { templateCompiler } from '@baton/expressions';
import { defineSaga } from './define-saga.js';
import { MAX_STEPS } from './read-steps.js';
import type { Saga } from './saga.js';

const run = () => null;
const compensate = () => undefined;

function dagOf({ spec }: Saga) {
  const parsed = parseDefinition(spec, templateCompiler);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  expect(parsed.warnings).toEqual([]);
  return parsed.dag;
}

function taskOf(saga: Saga, name: string): TaskNode {
  const node = dagOf(saga).nodes.get(name);
  if (node?.type !== 'task') throw new Error(`${name} is no task`);
  return node;
}

const order = defineSaga({
  id: 'shop_order',
  version: 3,
  input: { type: 'object' },
  timeout: 'PT1H',
  compensationTimeout: 90_000,
  retry: { maxAttempts: 4, maxInterval: 5_000 },
  steps: [
    { name: 'reserve', run, compensate, timeout: 1_500, retry: { baseInterval: 250 } },
    { name: 'approval', waitFor: 'approved', timeout: 'P1D' },
    { name: 'charge-card', run, compensate, compensateTimeout: 10, compensateRetry: { maxAttempts: 2 } },
    { name: 'notify', run, after: ['reserve'] },
  ],
});

describe('the definition that a saga compiles to', () => {
  it('is a valid definition of its id and version, with its limits', () => {
    expect(dagOf(order)).toMatchObject({
      definitionId: 'shop_order',
      version: 3,
      spec: {
        deadlineMs: 3_600_000,
        onDeadline: 'compensate',
        compensation: 'sequential',
        compensationTimeoutMs: 90_000,
      },
    });
    expect(order.queue).toBe('shop-order');
  });

  it('E15: takes each field of a policy from the step, then the saga, then the defaults; jittered into [0.8 d, d]', () => {
    const rest = { backoff: 2, jitter: 0.2, nonRetryable: ['TIMEOUT'] };
    expect(taskOf(order, 'reserve').retry).toEqual({
      maxAttempts: 4,
      initialIntervalMs: 250,
      maxIntervalMs: 5_000,
      ...rest,
    });
    expect(taskOf(order, 'notify').retry).toEqual({
      maxAttempts: 4,
      initialIntervalMs: 100,
      maxIntervalMs: 5_000,
      ...rest,
    });
    const plain = defineSaga({ id: 'o', steps: [{ name: 'a', run }] });
    expect(taskOf(plain, 'a').retry).toEqual({
      maxAttempts: 1,
      initialIntervalMs: 100,
      maxIntervalMs: 30_000,
      ...rest,
    });
  });

  it('W5: an undo is tried ten times, after timeouts too, each as long as its step unless it says otherwise', () => {
    expect(taskOf(order, 'reserve').compensate).toMatchObject({
      handler: 'reserve.undo',
      queue: 'shop-order',
      input: null,
      retry: { maxAttempts: 10, initialIntervalMs: 1_000, maxIntervalMs: 60_000, nonRetryable: [] },
      timeouts: { startToCloseMs: 1_500 },
    });
    expect(taskOf(order, 'charge-card').compensate).toMatchObject({
      retry: { maxAttempts: 2 },
      timeouts: { startToCloseMs: 10 },
    });
    expect(taskOf(order, 'notify').compensate).toBeNull();
  });

  it('a step without a time limit has none that would ever pass; leases are as long as their holder asks', () => {
    expect(taskOf(order, 'notify').timeouts).toMatchObject({
      startToCloseMs: 3_153_600_000_000,
      heartbeatMs: 3_600_000,
    });
  });

  it('gives each step the input and the outputs of all steps before it', () => {
    const scope = {
      input: '{"n":1.0}',
      output: (node: string) => `"out of ${node}"`,
      run: { id: 'r', definition: 'shop_order', version: 3 },
    };
    const textOf = (name: string) => taskOf(order, name).input?.render(scope);
    expect(textOf('reserve')).toEqual({ ok: true, text: '{"input":{"n":1.0},"outputs":{}}' });
    expect(textOf('charge-card')).toEqual({
      ok: true,
      text: '{"input":{"n":1.0},"outputs":{"reserve":"out of reserve","approval":"out of approval"}}',
    });
    expect(dagOf(order).spec.output?.render(scope)).toEqual({
      ok: true,
      text: '{"charge-card":"out of charge-card","notify":"out of notify"}',
    });
  });

  it('has the output of the one last step as output, by itself', () => {
    const saga = defineSaga({
      id: 'o',
      steps: [
        { name: 'a', run },
        { name: 'b', run },
      ],
    });
    expect(dagOf(saga).spec.output?.nodes).toEqual(['b']);
  });

  it('is the same text for the same saga', () => {
    const again = defineSaga({ ...order.options, steps: order.options.steps.map((step) => ({ ...step })) });
    expect(again.spec).toBe(order.spec);
    const inMs = defineSaga({ ...order.options, timeout: 3_600_000 });
    expect(inMs.spec).toBe(order.spec);
  });

  it('passes with as many steps as a saga may have', () => {
    const steps = Array.from({ length: MAX_STEPS }, (_, index) => ({ name: `step-${index}`, run }));
    expect(dagOf(defineSaga({ id: 'long', steps })).order).toHaveLength(MAX_STEPS);
    expect(() => defineSaga({ id: 'long', steps: [...steps, { name: 'more', run }] })).toThrow('at most 256');
  });
});
