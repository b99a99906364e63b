import type { StepContext } from '../definition/types.js';
import { claimedStep, sagaOf } from '../testing/steps.js';
import { compensateContext, stepContext, type AttemptHandle } from './context.js';

const handle: AttemptHandle = { signal: new AbortController().signal, heartbeat: () => undefined };

function contextOf(input: string, after: readonly string[] = []): StepContext {
  const step = sagaOf({ after }).steps.get('charge');
  if (step === undefined) throw new Error('no step');
  return stepContext(claimedStep({ input }), step, handle);
}

describe('the context of a step', () => {
  it('names the step and its execution, with a key that all of its attempts share', () => {
    const context = contextOf('{"input":1,"outputs":{}}');
    expect(context).toMatchObject({ runId: 'run-1', sagaId: 'order', sagaVersion: 1, step: 'charge', attempt: 1 });
    expect(context.idempotencyKey).toBe('run-1/charge/0/forward/1');
  });

  it('has the output of the step before, and null at the beginning', () => {
    const input = '{"input":{"id":1},"outputs":{"reserve":{"id":"r"},"quote":5}}';
    expect(contextOf(input, ['reserve']).previous).toEqual({ id: 'r' });
    expect(contextOf(input).previous).toBeNull();
    expect(contextOf(input).outputs).toEqual({ reserve: { id: 'r' }, quote: 5 });
  });

  it('has the outputs by name after a parallel group', () => {
    const input = '{"input":null,"outputs":{"a":1}}';
    expect(contextOf(input, ['a', 'b']).previous).toEqual({ a: 1, b: null });
    expect(contextOf(input, ['constructor']).previous).toBeNull();
  });

  it('does not parse what nobody reads', () => {
    const context = contextOf('{"input": no JSON at all');
    expect(context.attempt).toBe(1);
    expect(() => context.input).toThrow(SyntaxError);
  });

  it('is frozen to its depth: a step cannot change what the next reader sees', () => {
    const context = contextOf('{"input":{"list":[{"n":1}]},"outputs":{"a":{"b":{}}}}', ['a']);
    const input = context.input as { list: { n: number }[] };
    expect(() => input.list.push({ n: 2 })).toThrow(TypeError);
    expect(() => ((input.list[0] as { n: number }).n = 2)).toThrow(TypeError);
    expect(() => ((context.previous as { b: object }).b = {})).toThrow(TypeError);
    expect(context.input).toBe(context.input);
  });

  it('keeps names of Object.prototype as plain data', () => {
    const context = contextOf('{"input":{"__proto__":{"admin":true}},"outputs":{}}');
    expect(Object.keys(context.input as object)).toEqual(['__proto__']);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});

describe('the context of an undo', () => {
  it('says null where nobody knows what the step returned (R17)', () => {
    const step = sagaOf({}).steps.get('charge');
    if (step === undefined) throw new Error('no step');
    const input = '{"input":{"input":7,"outputs":{}},"output":null}';
    const context = compensateContext(claimedStep({ kind: 'compensate', input }), step, handle);
    expect(context.output).toBeNull();
    expect(context.input).toBe(7);
    expect(context.idempotencyKey).toBe('run-1/charge/0/compensate/1');
  });
});
