import type { Saga, SagaResolver } from '../saga.js';
import { defineSaga } from '../define-saga.js';

export interface ResolverSubject {
  /** Registers the suite's tests under this name. */
  readonly name: string;
  make(sagas: readonly Saga[]): SagaResolver;
}

/** A saga of one step that does nothing. */
export function plainSaga(id: string, version = 1): Saga {
  return defineSaga({ id, version, steps: [{ name: 'only', run: () => null }] });
}

/** What every resolver must do, for `describe` of jest. */
export function resolverSuite({ name, make }: ResolverSubject): void {
  describe(`the resolver ${name}`, () => {
    it('K3: finds nothing where there is nothing', () => {
      const resolver = make([]);
      expect(resolver.resolve('order')).toBeUndefined();
      expect(resolver.all()).toEqual([]);
    });

    it('K3: finds the very object, by id and by id and version; a miss is undefined', () => {
      const sagas = [plainSaga('order'), plainSaga('refund'), plainSaga('ship', 7)];
      const resolver = make(sagas);
      for (const saga of sagas) {
        expect(resolver.resolve(saga.id)).toBe(saga);
        expect(resolver.resolve(saga.id, saga.version)).toBe(saga);
        expect(resolver.resolve(saga.id, saga.version + 1)).toBeUndefined();
      }
      expect(resolver.resolve('Order')).toBeUndefined();
      expect(resolver.resolve('toString')).toBeUndefined();
      expect(new Set(resolver.all())).toEqual(new Set(sagas));
    });

    it('W12: holds several versions of one id: the newest without a version, each by its version', () => {
      const [second, third, first] = [plainSaga('order', 2), plainSaga('order', 3), plainSaga('order', 1)];
      const resolver = make([second, third, first]);
      expect(resolver.resolve('order')).toBe(third);
      expect([1, 2, 3].map((version) => resolver.resolve('order', version))).toEqual([first, second, third]);
    });

    it('K3: answers 1,000 lookups at once', async () => {
      const sagas = Array.from({ length: 10 }, (_, index) => plainSaga(`saga-${index}`));
      const resolver = make(sagas);
      const lookups = Array.from({ length: 1_000 }, async (_, index) => {
        await Promise.resolve();
        return resolver.resolve(`saga-${index % 10}`) === sagas[index % 10];
      });
      expect((await Promise.all(lookups)).every(Boolean)).toBe(true);
    });
  });
}
