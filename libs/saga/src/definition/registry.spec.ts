import { SagaError } from '../journal/errors.js';
import { SagaRegistry } from './registry.js';
import type { Saga } from './saga.js';
import { plainSaga, resolverSuite } from './testing/resolver-suite.js';

resolverSuite({ name: 'SagaRegistry', make: (sagas) => new SagaRegistry(sagas) });

function refusalOf(make: () => unknown): SagaError {
  try {
    make();
  } catch (error) {
    if (error instanceof SagaError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('what a registry refuses', () => {
  it('K3: the same id and version twice is a conflict, wherever it stands', () => {
    const sagas = [plainSaga('order'), plainSaga('refund'), plainSaga('order', 2), plainSaga('order')];
    expect(refusalOf(() => new SagaRegistry(sagas))).toMatchObject({
      kind: 'conflict',
      code: 'REGISTRY_INVALID',
      details: [{ pointer: '/3', code: 'DUPLICATE_SAGA', message: 'order@1 is there already, at /0' }],
    });
  });

  it.each([0, 1, 2])('K3: nothing, or what defineSaga did not make, at slot %d', (slot) => {
    const good = [plainSaga('a'), plainSaga('b'), plainSaga('c')];
    const withOne = (value: unknown) => good.map((saga, index) => (index === slot ? value : saga)) as Saga[];
    for (const missing of [undefined, null]) {
      expect(refusalOf(() => new SagaRegistry(withOne(missing)))).toMatchObject({
        kind: 'invalid',
        details: [{ pointer: `/${slot}`, code: 'SAGA_MISSING' }],
      });
    }
    expect(refusalOf(() => new SagaRegistry(withOne({ ...good[slot] })))).toMatchObject({
      kind: 'invalid',
      details: [{ pointer: `/${slot}`, code: 'NOT_A_SAGA' }],
    });
  });

  it('all faults at once; with others a duplicate is not a mere conflict', () => {
    const sagas = [plainSaga('a'), null, plainSaga('a')] as readonly Saga[];
    const { kind, details } = refusalOf(() => new SagaRegistry(sagas));
    expect(kind).toBe('invalid');
    expect(details.map(({ pointer }) => pointer)).toEqual(['/1', '/2']);
    expect(refusalOf(() => new SagaRegistry(null as never)).kind).toBe('invalid');
  });

  it('K3: what changes after it was made does not change it', () => {
    const sagas = [plainSaga('a')];
    const registry = new SagaRegistry(sagas);
    sagas.push(plainSaga('b'));
    expect(registry.resolve('b')).toBeUndefined();
    expect(() => (registry.all() as Saga[]).push(plainSaga('c'))).toThrow(TypeError);
  });
});
