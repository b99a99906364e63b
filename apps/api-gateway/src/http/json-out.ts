/** JSON text that goes into an answer as it is: a payload keeps its digits, its key order and its spaces (B70). */
export class RawJson {
  constructor(readonly text: string) {}
}

export type JsonOut =
  string | number | boolean | null | undefined | RawJson | readonly JsonOut[] | { readonly [key: string]: JsonOut };

/** JSON.stringify that knows RawJson. Members that are undefined are left out. Depth is ours, so recursion is bounded. */
export function toJsonText(value: JsonOut): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value))
    return `[${(value as readonly JsonOut[]).map((item) => toJsonText(item ?? null)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => `${JSON.stringify(key)}:${toJsonText(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

export function rawOrUndefined(text: string | undefined): RawJson | undefined {
  return text === undefined ? undefined : new RawJson(text);
}
