/** JSON text that goes into a request as it is. */
export class RawJson {
  constructor(readonly text: string) {}
}

export type BodyMember = string | number | RawJson | undefined;

/** A JSON object with raw members; those that are undefined are left out. */
export function jsonBody(members: Readonly<Record<string, BodyMember>>): string {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  const texts = present.map(([key, value]) => {
    return `${JSON.stringify(key)}:${value instanceof RawJson ? value.text : JSON.stringify(value)}`;
  });
  return `{${texts.join(',')}}`;
}

export function rawJson(text: string | undefined): RawJson | undefined {
  return text === undefined ? undefined : new RawJson(text);
}
