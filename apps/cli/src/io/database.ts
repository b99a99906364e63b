import { isNamespace } from '@baton/core';
import { runningAddresses } from '../dev/running.js';
import { failed, unreachable, usageError } from '../errors.js';
import { setting } from './environment.js';

/** The option, else the environment, else the database of the platform that is up. */
export function databaseUrl(option: string | undefined): string {
  const url = option ?? setting('BATON_DATABASE_URL') ?? runningAddresses()?.databaseUrl;
  if (url === undefined) throw usageError('which database? Give --database-url or set BATON_DATABASE_URL');
  if (!/^postgres(ql)?:\/\//.test(url)) throw usageError('the database address must begin with postgres://');
  return url;
}

export function checkNamespace(namespace: string): void {
  if (isNamespace(namespace)) return;
  throw usageError('a namespace has lower-case letters, digits and "-", at most 63');
}

/** Codes of Node and of PostgreSQL (class 08 and 57P03) that mean "there is no server to talk to". */
const noServer = /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|08...|57P03)$/;

/** Errors of a database as ends of the command. */
export async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = firstCause(error);
    if (noServer.test(code)) throw unreachable(`no database answers: ${message || code}`);
    throw failed(message);
  }
}

/** A host with two addresses fails with one error that holds one error for each. */
function firstCause(error: unknown): { code: string; message: string } {
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { code, message } = inner as { code?: unknown; message?: unknown };
  return { code: String(code ?? ''), message: String(message ?? inner) };
}
