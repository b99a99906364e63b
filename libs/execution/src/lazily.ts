/** Makes a value on the first call and keeps it. What `make` throws is thrown again by the next call's own try. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
