/** Frozen to its depth; a copy. Functions stay what they are, and so does everything that is not a plain object. */
export function frozenCopy<T>(value: T): T {
  return copyOf(value) as T;
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(value.map(copyOf));
  if (!isPlain(value)) return value;
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)])));
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** `Object.freeze` does not keep a map from being changed. */
export function frozenMap<K, V>(entries: Iterable<readonly [K, V]>): ReadonlyMap<K, V> {
  const map = new Map(entries);
  const refuse = () => {
    throw new TypeError('this map cannot be changed');
  };
  return Object.freeze(Object.assign(map, { set: refuse, delete: refuse, clear: refuse }));
}
