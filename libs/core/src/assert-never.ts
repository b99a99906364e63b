/** A switch over a union ends with it: a case that is missing stops compiling. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
