import { defineSaga } from '../definition/define-saga.js';
import type { Saga } from '../definition/saga.js';
import type { Outputs, SagaOptions } from '../definition/types.js';

const run = () => null;
const compensate = () => null;

const sagaOf = (options: SagaOptions<unknown, Outputs>): Saga => defineSaga<unknown, Outputs>(options) as Saga;

/** The sagas of the conformance suite. Nothing runs their steps: the suite says what became of them. */
export const suiteSagas: readonly Saga[] = [
  sagaOf({ id: 'one', steps: [{ name: 'a', run }] }),
  sagaOf({
    id: 'line',
    steps: [
      { name: 'a', run },
      { name: 'b', run },
      { name: 'c', run },
    ],
  }),
  sagaOf({
    id: 'undoable',
    timeout: 60_000,
    steps: [
      { name: 'a', run, compensate },
      { name: 'b', run, compensate },
      { name: 'c', run },
    ],
  }),
  sagaOf({ id: 'limited', timeout: 60_000, steps: [{ name: 'a', run }] }),
  sagaOf({ id: 'retried', retry: { maxAttempts: 3, baseInterval: 1_000 }, steps: [{ name: 'a', run }] }),
  sagaOf({
    id: 'wide',
    steps: ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'].map((name) => ({ name, run, after: [] })),
  }),
];
