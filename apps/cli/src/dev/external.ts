import { readFileSync } from 'node:fs';
import type { ExternalServers } from './supervisor.js';

/** Servers named in the environment, directly or by a file, are used instead of ours. */
export function externalServers(env: NodeJS.ProcessEnv = process.env): ExternalServers {
  const databaseUrl = setting(env, 'BATON_DATABASE_URL');
  const brokers = setting(env, 'BATON_KAFKA_BROKERS');
  return { ...(databaseUrl === undefined ? {} : { databaseUrl }), ...(brokers === undefined ? {} : { brokers }) };
}

function setting(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const file = env[`${name}_FILE`];
  const value = file === undefined || file === '' ? env[name] : readFileSync(file, 'utf8').trim();
  return value === '' ? undefined : value;
}
