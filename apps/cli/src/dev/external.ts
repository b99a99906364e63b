import { setting } from '../io/environment.js';
import type { ExternalServers } from './supervisor.js';

/** Servers named in the environment are used instead of ours. */
export function externalServers(env: NodeJS.ProcessEnv = process.env): ExternalServers {
  const databaseUrl = setting('BATON_DATABASE_URL', env);
  const brokers = setting('BATON_KAFKA_BROKERS', env);
  return { ...(databaseUrl === undefined ? {} : { databaseUrl }), ...(brokers === undefined ? {} : { brokers }) };
}
