import { SagaError, type SagaErrorDetail } from '../journal/errors.js';
import { isSaga } from './define-saga.js';
import type { Saga, SagaResolver } from './saga.js';

/**
 * The sagas of a process. Checked when it is made, and never changed. One id may come in several versions: new runs take
 * the newest, runs in flight the one that they began with (W12).
 */
export class SagaRegistry implements SagaResolver {
  private readonly list: readonly Saga[];
  private readonly newest: ReadonlyMap<string, Saga>;
  private readonly byVersion: ReadonlyMap<string, Saga>;

  /**
   * Throws a `SagaError` with every fault in `details`: kind `conflict` when an id and version comes twice and nothing
   * else is wrong, `invalid` when something is missing or was not made by `defineSaga`.
   */
  constructor(sagas: readonly Saga[]) {
    check(sagas);
    this.list = Object.freeze([...sagas]);
    const newest = new Map<string, Saga>();
    for (const saga of sagas) {
      const other = newest.get(saga.id);
      if (other === undefined || other.version < saga.version) newest.set(saga.id, saga);
    }
    this.newest = newest;
    this.byVersion = new Map(sagas.map((saga) => [keyOf(saga.id, saga.version), saga]));
    Object.freeze(this);
  }

  resolve(id: string, version?: number): Saga | undefined {
    return version === undefined ? this.newest.get(id) : this.byVersion.get(keyOf(id, version));
  }

  all(): readonly Saga[] {
    return this.list;
  }
}

/** Ids hold no '@'. */
function keyOf(id: string, version: number): string {
  return `${id}@${version}`;
}

function check(sagas: readonly unknown[]): void {
  if (!Array.isArray(sagas)) {
    throw new SagaError('invalid', 'REGISTRY_INVALID', 'a registry is made of an array of sagas');
  }
  const first = new Map<string, number>();
  const details = Array.from(sagas as unknown[], (saga, index): SagaErrorDetail[] => {
    const pointer = `/${index}`;
    if (!isSaga(saga)) {
      const isMissing = saga === undefined || saga === null;
      const message = isMissing ? 'there is no saga' : 'this was not made by defineSaga';
      return [{ pointer, code: isMissing ? 'SAGA_MISSING' : 'NOT_A_SAGA', message }];
    }
    const key = keyOf(saga.id, saga.version);
    const other = first.get(key);
    if (other === undefined) {
      first.set(key, index);
      return [];
    }
    return [{ pointer, code: 'DUPLICATE_SAGA', message: `${key} is there already, at /${other}` }];
  }).flat();
  if (details.length === 0) return;
  const kind = details.every(({ code }) => code === 'DUPLICATE_SAGA') ? 'conflict' : 'invalid';
  const all = details.map(({ pointer, message }) => `${pointer}: ${message}`).join('; ');
  throw new SagaError(kind, 'REGISTRY_INVALID', `not a registry of sagas: ${all}`, { details });
}
