import { SagaError } from '../journal/errors.js';
import { defineSaga, isSaga } from './define-saga.js';
import type { SagaOptions } from './types.js';

const run = () => null;
const step = (name: string, more: object = {}) => ({ name, run, ...more });

/** As somebody writes it in JavaScript. */
const define = (options: unknown) => defineSaga(options as SagaOptions<unknown, Record<string, unknown>>);

function refusalOf(options: unknown): SagaError {
  try {
    define(options);
  } catch (error) {
    if (error instanceof SagaError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const faultsOf = (options: unknown) => refusalOf(options).details.map(({ pointer, code }) => `${code} ${pointer}`);

describe('defineSaga accepts', () => {
  it.each([
    ['one step', { steps: [step('a')] }],
    ['three steps', { steps: [step('a'), step('b'), step('c')] }],
    ['no time limits', { steps: [step('a', { timeout: undefined })], timeout: undefined }],
    ['an undo', { steps: [step('a', { compensate: () => undefined }), step('b')] }],
    ['a policy of the saga', { retry: { maxAttempts: 3, baseInterval: 10, maxInterval: 10 }, steps: [step('a')] }],
    ['a policy of a step', { steps: [step('a', { retry: { baseInterval: 0, maxInterval: 'PT1M' } })] }],
    ['time limits in both ways of writing', { timeout: 'PT1H', steps: [step('a', { timeout: 1 })] }],
    ['a wait for a signal', { steps: [step('a'), { name: 'b', waitFor: 'approved', timeout: 'P1D' }] }],
    ['steps side by side', { steps: [step('a'), step('b', { after: [] }), step('c', { after: ['a', 'b'] })] }],
  ])('K1: %s', (_what, options) => {
    expect(isSaga(define({ id: 'order', ...options }))).toBe(true);
  });
});

describe('defineSaga refuses', () => {
  it.each([
    ['an empty id', { id: '', steps: [step('a')] }, ['INVALID_NAME /id']],
    ['an unsafe id', { id: 'Order/1', steps: [step('a')] }, ['INVALID_NAME /id']],
    ['a version below 1', { id: 'o', version: 0, steps: [step('a')] }, ['OUT_OF_RANGE /version']],
    ['no steps', { id: 'o', steps: [] }, ['NO_STEPS /steps']],
    ['steps that are not there', { id: 'o' }, ['NO_STEPS /steps']],
    ['a negative time limit', { id: 'o', timeout: -1, steps: [step('a')] }, ['OUT_OF_RANGE /timeout']],
    ['a time limit of 0', { id: 'o', timeout: 0, steps: [step('a')] }, ['OUT_OF_RANGE /timeout']],
    ['half a millisecond', { id: 'o', timeout: 0.5, steps: [step('a')] }, ['OUT_OF_RANGE /timeout']],
    ['a duration with months', { id: 'o', timeout: 'P1M', steps: [step('a')] }, ['BAD_DURATION /timeout']],
    ['an option that does nothing', { id: 'o', timout: 1, steps: [step('a')] }, ['UNKNOWN_FIELD /timout']],
    ['a schema that is none', { id: 'o', input: 'string', steps: [step('a')] }, ['WRONG_TYPE /input']],
    [
      'a policy with negative values',
      { id: 'o', retry: { maxAttempts: -1, baseInterval: -1, maxInterval: -5 }, steps: [step('a')] },
      ['OUT_OF_RANGE /retry/maxAttempts', 'OUT_OF_RANGE /retry/baseInterval', 'OUT_OF_RANGE /retry/maxInterval'],
    ],
    [
      'an inverted policy',
      { id: 'o', retry: { baseInterval: 10, maxInterval: 9 }, steps: [step('a')] },
      ['INTERVALS_INVERTED /retry/maxInterval'],
    ],
    [
      'policies that are inverted together',
      { id: 'o', retry: { maxInterval: 10 }, steps: [step('a', { retry: { baseInterval: 11 } })] },
      ['INTERVALS_INVERTED /steps/0/retry'],
    ],
    ['what is no object', null, ['WRONG_TYPE ']],
  ])('K2: %s', (_what, options, faults) => {
    const refusal = refusalOf(options);
    expect(refusal).toMatchObject({ kind: 'invalid', code: 'SAGA_INVALID' });
    expect(faultsOf(options)).toEqual(faults);
  });

  it.each([0, 1, 2])('K2: a step that is not right, at index %d', (at) => {
    const withOne = (wrong: unknown) => ({
      id: 'o',
      steps: ['a', 'b', 'c'].map((name, index) => (index === at ? wrong : step(name, { after: [] }))),
    });
    const own = { after: [] };
    expect(faultsOf(withOne(step('', own)))).toEqual([`INVALID_NAME /steps/${at}/name`]);
    expect(faultsOf(withOne(step('pay now', own)))).toEqual([`INVALID_NAME /steps/${at}/name`]);
    expect(faultsOf(withOne(step('toString', own)))).toEqual([`INVALID_NAME /steps/${at}/name`]);
    expect(faultsOf(withOne({ name: 'x', run: null, ...own }))).toEqual([`RUN_MISSING /steps/${at}/run`]);
    expect(faultsOf(withOne({ name: 'x', ...own }))).toEqual([`RUN_MISSING /steps/${at}/run`]);
    expect(faultsOf(withOne(step('x', { timeout: -1, ...own })))).toEqual([`OUT_OF_RANGE /steps/${at}/timeout`]);
    expect(faultsOf(withOne(step('x', { retry: { maxAttempts: 0 }, ...own })))).toEqual([
      `OUT_OF_RANGE /steps/${at}/retry/maxAttempts`,
    ]);
    expect(faultsOf(withOne(step('x', { compensate: 'undo', ...own })))).toEqual([
      `WRONG_TYPE /steps/${at}/compensate`,
    ]);
    expect(faultsOf(withOne(step('x', { compensateTimeout: 1, ...own })))).toEqual([
      `NOT_COMPENSATED /steps/${at}/compensateTimeout`,
    ]);
    expect(faultsOf(withOne({ name: 'x', waitFor: 'a b', ...own }))).toEqual([`INVALID_NAME /steps/${at}/waitFor`]);
    expect(faultsOf(withOne(null))).toContain(`WRONG_TYPE /steps/${at}`);
  });

  it('K2: two steps of one name are a conflict; also where only the case differs', () => {
    for (const name of ['pay', 'Pay']) {
      const refusal = refusalOf({ id: 'o', steps: [step('pay'), step('b'), step(name, { after: ['b'] })] });
      expect(refusal).toMatchObject({
        kind: 'conflict',
        details: [{ pointer: '/steps/2/name', code: 'DUPLICATE_STEP' }],
      });
    }
  });

  it('K2: with anything else wrong it is invalid, and everything is named', () => {
    const refusal = refusalOf({
      id: 'NO',
      timeout: 'soon',
      steps: [step('a'), step('a', { after: [], timeout: -1 }), { name: 'c' }],
    });
    expect(refusal.kind).toBe('invalid');
    expect(refusal.details.map(({ pointer }) => pointer).sort()).toEqual(
      ['/id', '/steps/1/name', '/steps/1/timeout', '/steps/2/run', '/timeout'].sort(),
    );
    for (const { pointer } of refusal.details) expect(refusal.message).toContain(pointer);
  });

  it('orders that cannot be: an unknown step, itself, twice, a cycle', () => {
    const withAfter = (...afters: readonly (readonly string[])[]) => ({
      id: 'o',
      steps: afters.map((after, index) => step('abc'.charAt(index), { after })),
    });
    expect(faultsOf(withAfter([], ['x']))).toEqual(['UNKNOWN_STEP /steps/1/after/0']);
    expect(faultsOf(withAfter(['a']))).toEqual(['CYCLE /steps/0/after']);
    expect(faultsOf(withAfter([], ['a', 'a']))).toEqual(['DUPLICATE_AFTER /steps/1/after/1']);
    expect(faultsOf(withAfter([], ['c'], ['b']))).toEqual(['CYCLE /steps/1/after', 'CYCLE /steps/2/after']);
  });
});

describe('a saga', () => {
  it('is a frozen copy: neither its options nor its steps can be changed', () => {
    const steps = [step('a'), step('b')];
    const saga = define({ id: 'order', steps });
    steps.push(step('c'));
    expect([...saga.steps.keys()]).toEqual(['a', 'b']);
    const map = saga.steps as Map<string, unknown>;
    expect(() => map.set('c', null)).toThrow(TypeError);
    expect(() => map.clear()).toThrow(TypeError);
    expect(() => Object.assign(saga.steps.get('a') as object, { run: null })).toThrow(TypeError);
    expect(() => Object.assign(saga.options.steps[0] as object, { name: 'x' })).toThrow(TypeError);
    expect(() => Object.assign(saga, { id: 'x' })).toThrow(TypeError);
  });

  it('knows which steps come directly before each', () => {
    const saga = define({
      id: 'order',
      steps: [step('a'), step('b'), step('c', { after: [] }), step('d', { after: ['b', 'c'] })],
    });
    expect([...saga.steps.values()].map(({ name, index, after }) => ({ name, index, after }))).toEqual([
      { name: 'a', index: 0, after: [] },
      { name: 'b', index: 1, after: ['a'] },
      { name: 'c', index: 2, after: [] },
      { name: 'd', index: 3, after: ['b', 'c'] },
    ]);
  });
});
