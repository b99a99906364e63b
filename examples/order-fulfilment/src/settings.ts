import { readFileSync } from 'node:fs';
import type { FleetSettings } from './fleet.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Every variable may also come as NAME_FILE, the way secrets are mounted. */
export function readSettings(env: Environment): FleetSettings {
  return {
    brokers: list(env, 'BATON_KAFKA_BROKERS', '127.0.0.1:19092'),
    coordinators: list(env, 'BATON_COORDINATOR_URL', '127.0.0.1:7401'),
    namespace: read(env, 'BATON_NAMESPACE') ?? 'default',
    apiKey: read(env, 'BATON_API_KEY'),
    ledgerUrl: read(env, 'BATON_LEDGER_URL'),
    concurrency: concurrency(read(env, 'BATON_WORKER_CONCURRENCY')),
  };
}

function read(env: Environment, name: string): string | undefined {
  const direct = env[name]?.trim();
  if (direct) return direct;
  const file = env[`${name}_FILE`]?.trim();
  return file ? readFileSync(file, 'utf8').trim() || undefined : undefined;
}

function list(env: Environment, name: string, fallback: string): readonly string[] {
  return (read(env, name) ?? fallback)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function concurrency(text: string | undefined): number {
  if (text === undefined) return 20;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`BATON_WORKER_CONCURRENCY must be a whole number: ${text}`);
  return value;
}
