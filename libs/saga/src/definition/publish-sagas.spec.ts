import { defineSaga } from './define-saga.js';
import { publishSagas, type DefinitionPublisher } from './publish-sagas.js';
import { SagaRegistry } from './registry.js';
import type { Saga } from './saga.js';

const run = () => null;
const step = (name: string, more: object = {}) => ({ name, run, ...more });
const saga = (steps: readonly ReturnType<typeof step>[], more: object = {}) =>
  defineSaga({ id: 'order', ...more, steps });

/** A shelf on which things stay as they were put. */
function shelf(): DefinitionPublisher & { readonly texts: Map<string, string> } {
  const texts = new Map<string, string>();
  return {
    texts,
    publish: (namespace, definitions) => {
      const changed = definitions.flatMap(({ id, version, spec }) => {
        const key = `${namespace}/${id}@${version}`;
        const published = texts.get(key) ?? spec;
        texts.set(key, published);
        return published === spec ? [] : [{ id, version, published, ours: spec }];
      });
      return Promise.resolve(changed);
    },
  };
}

async function faultsAfter(before: Saga, now: Saga): Promise<readonly string[]> {
  const publisher = shelf();
  await publishSagas(publisher, 'default', new SagaRegistry([before]));
  const refusal = await publishSagas(publisher, 'default', new SagaRegistry([now])).then(
    () => ({ details: [] }),
    (error: { code: string; kind: string; details: readonly { code: string; pointer: string }[] }) => {
      expect(error).toMatchObject({ kind: 'conflict', code: 'DEFINITION_CHANGED' });
      return error;
    },
  );
  return refusal.details.map(({ code, pointer }) => `${code} ${pointer}`);
}

const before = saga([step('a'), step('b'), step('c')]);

describe('publishing sagas', () => {
  it('W12: the same saga again is nothing new; a function may change at any time', async () => {
    expect(await faultsAfter(before, saga([step('a', { run: () => 1 }), step('b'), step('c')]))).toEqual([]);
  });

  it.each([
    ['inserted', [step('a'), step('new'), step('b'), step('c')], ['STEP_ADDED /order@1/steps/new']],
    ['removed', [step('a'), step('c')], ['STEP_REMOVED /order@1/steps/b']],
    [
      'reordered',
      [step('b'), step('a'), step('c')],
      ['STEP_REORDERED /order@1/steps/b', 'STEP_REORDERED /order@1/steps/a', 'STEP_REORDERED /order@1/steps/c'],
    ],
    ['changed', [step('a'), step('b', { timeout: 5 }), step('c')], ['STEP_CHANGED /order@1/steps/b']],
    [
      'given an undo, and another inserted',
      [step('new'), step('a', { compensate: run }), step('b'), step('c')],
      ['STEP_ADDED /order@1/steps/new', 'STEP_CHANGED /order@1/steps/a'],
    ],
    ['put side by side', [step('a'), step('b'), step('c', { after: ['a'] })], ['STEP_REORDERED /order@1/steps/c']],
  ])('W12: refuses a published version with a step %s, and names it', async (_what, steps, faults) => {
    expect(await faultsAfter(before, saga(steps))).toEqual(faults);
  });

  it('W12: names changed settings of the saga', async () => {
    const now = saga([step('a'), step('b'), step('c')], { timeout: 'PT1H' });
    expect(await faultsAfter(before, now)).toEqual(['SAGA_CHANGED /order@1']);
  });

  it('W12: takes the changed steps as a new version, beside the old one', async () => {
    const publisher = shelf();
    const next = saga([step('a'), step('c')], { version: 2 });
    await publishSagas(publisher, 'default', new SagaRegistry([before, next]));
    expect([...publisher.texts.keys()]).toEqual(['default/order@1', 'default/order@2']);
  });

  it('says in one message what to do about all of them', async () => {
    const publisher = shelf();
    const other = (steps: readonly ReturnType<typeof step>[]) => defineSaga({ id: 'refund', steps });
    await publishSagas(publisher, 'default', new SagaRegistry([before, other([step('x')])]));
    const now = new SagaRegistry([saga([step('a')]), other([step('y')])]);
    await expect(publishSagas(publisher, 'default', now)).rejects.toThrow(
      'order@1: step b was removed; step c was removed. refund@1: step y was added; step x was removed. Raise the version',
    );
  });
});
