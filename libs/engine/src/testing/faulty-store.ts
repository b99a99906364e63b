import type { Store } from '../ports.js';

export interface Fault {
  readonly statement: keyof Store;
  /** before: nothing was done. after: it was done, and the answer is lost. */
  readonly when: 'before' | 'after';
  readonly error: unknown;
  /** Only for calls of which this is true. */
  readonly matches?: (args: readonly unknown[]) => boolean;
  times: number;
}

/** A store of which chosen statements fail, so that every way a batch can end is taken. */
export function withFaults<S extends Store>(store: S): { readonly store: S; readonly faults: Fault[] } {
  const faults: Fault[] = [];
  const take = (statement: string, when: Fault['when'], args: readonly unknown[]): void => {
    const fault = faults.find(
      (candidate) =>
        candidate.statement === statement &&
        candidate.when === when &&
        candidate.times > 0 &&
        (candidate.matches?.(args) ?? true),
    );
    if (fault === undefined) return;
    fault.times -= 1;
    throw fault.error;
  };
  const faulty = new Proxy(store, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      return async (...args: unknown[]): Promise<unknown> => {
        take(name, 'before', args);
        const result: unknown = await Reflect.apply(member, target, args);
        take(name, 'after', args);
        return result;
      };
    },
  });
  return { store: faulty, faults };
}
