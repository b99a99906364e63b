import { join } from 'node:path';
import { compile } from '../testing/architecture.js';

/** Each test starts a compiler. */
jest.setTimeout(60_000);

const src = join(__dirname, '..');

const saga = (steps: string, types = '<Input, Outputs>') => `
  import { defineSaga } from './definition/define-saga.js';
  import type { Saga } from './definition/saga.js';
  interface Input { readonly sku: string }
  interface Outputs { reserve: { id: string }; approval: { by: string }; charge: number }
  export const saga = defineSaga${types}({ id: 'order', steps: [${steps}] });
  export const all: readonly Saga[] = [saga];`;

const RESERVE = `{ name: 'reserve', run: async ({ input }) => ({ id: input.sku }), compensate: ({ output }) => output?.id.length }`;
const APPROVAL = `{ name: 'approval', waitFor: 'approved' }`;
const CHARGE = `{ name: 'charge', run: ({ outputs }) => (outputs.reserve?.id ?? '').length + (outputs.approval?.by ?? '').length, after: ['reserve', 'approval'] }`;

/** What an editor knows while a saga is written. */
describe('the types of a saga', () => {
  it('are known in every context by the two types that the author names', () => {
    expect(compile(src, saga(`${RESERVE}, ${APPROVAL}, ${CHARGE}`))).toEqual([]);
  });

  it('need not be named: then input and outputs are unknown', () => {
    const steps = `{ name: 'a', run: ({ input, previous, outputs }) => [input, previous, outputs['x']] },
      { name: 'b', run: async () => undefined, compensate: ({ output }) => output, after: ['a'] }`;
    expect(compile(src, saga(steps, ''))).toEqual([]);
  });

  it('need not be named where a saga of any types is wanted', () => {
    const snippet = `import { defineSaga } from './definition/define-saga.js';
      import type { Saga } from './definition/saga.js';
      export const of = (name: string): Saga => defineSaga({ id: 'order', steps: [{ name, run: () => null }] });`;
    expect(compile(src, snippet)).toEqual([]);
  });

  it.each([
    ['a step of another name', `{ name: 'resreve', run: () => ({ id: '' }) }`, '"resreve"'],
    ['an output that is another', `{ name: 'reserve', run: () => ({ id: 1 }) }`, "'number' is not assignable"],
    ['a field that the input lacks', `{ name: 'charge', run: ({ input }) => input.price }`, "'price' does not exist"],
    ['an output of no step', `{ name: 'charge', run: ({ outputs }) => outputs.pay }`, "'pay' does not exist"],
    ['an order after no step', `{ name: 'charge', run: () => 1, after: ['pay'] }`, '"pay"'],
    ['an output that may not be there', `{ name: 'charge', run: ({ outputs }) => outputs.charge }`, 'undefined'],
    ['a wait that runs', `{ name: 'approval', waitFor: 'a', run: () => ({ by: '' }), retry: {} , x: 1 }`, 'x'],
  ])('refuse %s', (_what, step, message) => {
    expect(compile(src, saga(step)).join('\n')).toContain(message);
  });
});
