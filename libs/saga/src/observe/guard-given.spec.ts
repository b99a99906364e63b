import { defineSaga } from '../definition/define-saga.js';
import { SagaRegistry } from '../definition/registry.js';
import { createSagaRuntime, type SagaRuntimeOptions } from '../runtime/create-runtime.js';
import { openMemorySagaStore } from '../testing/memory-store.js';
import { nopTracer } from './tracer.js';

const fault = (): never => {
  throw new Error('no');
};
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const faultySpan = { set: fault, fail: fault };

const GIVEN: readonly (readonly [string, Partial<SagaRuntimeOptions>])[] = [
  ['a logger that throws', { logger: { debug: fault, info: fault, warn: fault, error: fault } }],
  ['a relay that throws', { relay: { kick: fault } }],
  ['a tracer that throws', { tracer: { span: fault } }],
  ['a tracer that rejects', { tracer: { span: () => Promise.reject(new Error('no')) } }],
  ['a tracer that runs nothing', { tracer: { span: () => Promise.resolve(undefined as never) } }],
  [
    'a tracer that never settles',
    { tracer: { span: (_options, work) => work(faultySpan).then(() => new Promise(() => undefined)) } },
  ],
  [
    'a tracer that does it twice',
    { tracer: { span: (options, work) => nopTracer.span(options, work).then(() => work(faultySpan)) } },
  ],
];

describe('what a service gives to its runtime', () => {
  let onTestEnd: () => Promise<void>;
  afterEach(() => onTestEnd());

  it.each(GIVEN)('E14: with %s every step runs once, and no slot is lost', async (_what, given) => {
    const calls: string[] = [];
    const step = (name: string, run: () => unknown) => ({
      name,
      run: () => {
        calls.push(name);
        return run();
      },
      compensate: () => void calls.push(`undo ${name}`),
    });
    const saga = defineSaga({ id: 'order', steps: [step('a', () => 1), step('b', fault)] });
    const runtime = await createSagaRuntime({
      store: openMemorySagaStore(),
      registry: new SagaRegistry([saga]),
      concurrency: 1,
      logger: silent,
      ...given,
    });
    onTestEnd = () => runtime.close(0).catch(() => undefined);
    await runtime.start();
    for (let run = 0; run < 3; run += 1) {
      const started = await runtime.client.start(saga, null);
      expect(await started.result({ timeoutMs: 2_000 })).toMatchObject({ status: 'compensated' });
    }
    expect(calls).toEqual(Array.from({ length: 3 }, () => ['a', 'b', 'undo a']).flat());
  });
});
