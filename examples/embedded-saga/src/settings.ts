import { readFileSync } from 'node:fs';

type Environment = Readonly<Record<string, string | undefined>>;

/** Injects them. */
export const SETTINGS = Symbol('settings');

export interface Settings {
  /** undefined: the service starts a PostgreSQL of its own. */
  readonly databaseUrl: string | undefined;
  readonly port: number;
  readonly host: string;
  /** Steps that run at once in this process. */
  readonly concurrency: number;
  /** Lets every step take this long, so that there is something to watch, or to kill. */
  readonly stepMs: number;
  /** A lease lasts for this long without a heartbeat: how soon others go on with the steps of a process that died. */
  readonly leaseMs: number;
  readonly ledgerUrl: string | undefined;
}

/** Every variable may also come as NAME_FILE, the way secrets are mounted. */
export function readSettings(env: Environment): Settings {
  return {
    databaseUrl: read(env, 'BATON_DATABASE_URL'),
    port: wholeNumber(env, 'BATON_HTTP_PORT', 0) ?? 8090,
    host: read(env, 'BATON_HTTP_HOST') ?? '127.0.0.1',
    concurrency: wholeNumber(env, 'BATON_SAGA_CONCURRENCY', 1) ?? 16,
    stepMs: wholeNumber(env, 'BATON_STEP_MS', 0) ?? 0,
    leaseMs: wholeNumber(env, 'BATON_LEASE_MS', 100) ?? 30_000,
    ledgerUrl: read(env, 'BATON_LEDGER_URL'),
  };
}

function read(env: Environment, name: string): string | undefined {
  const direct = env[name]?.trim();
  if (direct) return direct;
  const file = env[`${name}_FILE`]?.trim();
  return file ? readFileSync(file, 'utf8').trim() || undefined : undefined;
}

function wholeNumber(env: Environment, name: string, least: number): number | undefined {
  const text = read(env, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < least) throw new Error(`${name} must be a whole number >= ${least}: ${text}`);
  return value;
}
