import { NonRetryableError, silentLogger, type TaskContext } from '@baton/worker';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { handlers, queues } from './handlers.js';

interface Definition {
  readonly nodes: readonly {
    readonly id: string;
    readonly task: string;
    readonly queue: string;
    readonly compensate?: { readonly task: string };
  }[];
}

const folder = join(__dirname, '..');
const definition = JSON.parse(readFileSync(join(folder, 'definition.json'), 'utf8')) as Definition;
const demoRuns = JSON.parse(readFileSync(join(folder, 'demo-runs.json'), 'utf8')) as {
  expected: string;
  input: object;
}[];

function call(name: string, input: unknown, attempt = 1): unknown {
  const context: TaskContext = {
    runId: 'r',
    taskId: 't',
    nodeId: 'n',
    item: 0,
    kind: 'forward',
    generation: 1,
    attempt,
    idempotencyKey: 'r/n/0/forward/1',
    queue: 'q',
    handler: name,
    definitionId: 'order-fulfilment',
    definitionVersion: 1,
    inputText: JSON.stringify(input),
    input: <T>() => input as T,
    lastProgress: () => undefined,
    signal: new AbortController().signal,
    heartbeat: () => undefined,
    log: silentLogger,
  };
  return handlers[name]?.(context);
}

describe('the order-fulfilment example', () => {
  it('has a handler for every task and undo, and a queue for every node', () => {
    const wanted = definition.nodes.flatMap((node) => [node.task, ...(node.compensate ? [node.compensate.task] : [])]);
    expect(Object.keys(handlers).sort()).toEqual(wanted.sort());
    expect(definition.nodes.map((node) => node.queue).every((queue) => queues.includes(queue as never))).toBe(true);
  });

  it('shows a success, an undone failure and a repaired failure, in this order', () => {
    expect(demoRuns.map((run) => run.expected)).toEqual(['SUCCEEDED', 'COMPENSATED', 'SUCCEEDED']);
  });

  it('adds prices without losing cents', () => {
    const items = [
      { sku: 'a', quantity: 3, price: 0.1 },
      { sku: 'b', quantity: 1, price: 19.9 },
    ];
    expect(call('inventory.reserve', { orderId: 'A', items })).toEqual({ reservation: 'R-A', total: 20.2 });
  });

  it('declines a payment for good', () => {
    expect(() => call('payments.charge', { orderId: 'A', payment: 'decline', amount: 1 })).toThrow(NonRetryableError);
  });

  it('ships at the third attempt when the carrier fails twice', () => {
    const input = { orderId: 'A', shipping: 'fail-twice' };
    expect(() => call('shipping.ship', input, 1)).toThrow('does not answer');
    expect(() => call('shipping.ship', input, 2)).toThrow('does not answer');
    expect(call('shipping.ship', input, 3)).toEqual({ tracking: 'T-A' });
  });
});
