/** Instants come from the database as text, in UTC, so that their microseconds survive. */
export function millisOf(text: string): number {
  return Date.parse(`${text.replace(' ', 'T').replace(/\+00(:00)?$/, '')}Z`);
}
