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
    concurrency: wholeNumber(read(env, 'BATON_WORKER_CONCURRENCY'), 'BATON_WORKER_CONCURRENCY', 1) ?? 20,
    stepMs: wholeNumber(read(env, 'BATON_STEP_MS'), 'BATON_STEP_MS', 0) ?? 0,
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

function wholeNumber(text: string | undefined, name: string, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < least) throw new Error(`${name} must be a whole number >= ${least}: ${text}`);
  return value;
}
