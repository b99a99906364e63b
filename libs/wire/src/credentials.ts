import type { MetadataReader } from './errors.js';

export const AUTHORIZATION_KEY = 'authorization';

/** Value of the `authorization` header or metadata entry for an API key. */
export function bearer(apiKey: string): string {
  return `Bearer ${apiKey}`;
}

/** The key of an `authorization` value; undefined = none, or not a bearer credential. */
export function readBearer(value: string | undefined): string | undefined {
  return /^Bearer +([^\s]+) *$/i.exec(value ?? '')?.[1];
}

export function authorizationOf(metadata: MetadataReader): string | undefined {
  const value = metadata.get(AUTHORIZATION_KEY)[0];
  return typeof value === 'string' ? value : undefined;
}
