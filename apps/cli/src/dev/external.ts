import { connect } from 'node:net';
import { failed } from '../errors.js';
import { setting } from '../io/environment.js';

/** Servers that exist already and are used instead of ours. */
export interface ExternalServers {
  readonly databaseUrl?: string;
  readonly brokers?: string;
}

/** Servers named in the environment are used instead of ours. */
export function externalServers(env: NodeJS.ProcessEnv = process.env): ExternalServers {
  const databaseUrl = setting('BATON_DATABASE_URL', env);
  const brokers = setting('BATON_KAFKA_BROKERS', env);
  return { ...(databaseUrl === undefined ? {} : { databaseUrl }), ...(brokers === undefined ? {} : { brokers }) };
}

/** Throws, in one sentence, when a server that we were sent to does not answer: told before anything is started. */
export async function checkExternalServers({ databaseUrl, brokers }: ExternalServers): Promise<void> {
  if (databaseUrl !== undefined) {
    const { hostname, port } = parseUrl(databaseUrl);
    await expectAnswer('BATON_DATABASE_URL', [{ host: unbracket(hostname), port: Number(port === '' ? 5432 : port) }]);
  }
  if (brokers !== undefined) await expectAnswer('BATON_KAFKA_BROKERS', brokers.split(',').map(parseBroker));
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

function parseUrl(databaseUrl: string): URL {
  if (/^postgres(ql)?:\/\//.test(databaseUrl) && URL.canParse(databaseUrl)) return new URL(databaseUrl);
  throw failed('BATON_DATABASE_URL must be an address such as postgresql://user:password@host:5432/database.');
}

function parseBroker(text: string): Endpoint {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text.trim()) ?? [];
  if (host === undefined) throw failed('BATON_KAFKA_BROKERS must be a list such as host:9092,other:9092.');
  return { host: unbracket(host), port: Number(port) };
}

function unbracket(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

async function expectAnswer(variable: string, endpoints: readonly Endpoint[]): Promise<void> {
  const answers = await Promise.all(endpoints.map(answersAt));
  if (answers.includes(true)) return;
  const names = endpoints.map(({ host, port }) => `${host}:${port}`).join(', ');
  throw failed(
    `Nothing answers at ${names}, which ${variable} names: start it, or unset ${variable} to use one of ours.`,
  );
}

const CONNECT_TIMEOUT_MS = 5_000;

function answersAt({ host, port }: Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_TIMEOUT_MS });
    const settle = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.once('connect', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
}
