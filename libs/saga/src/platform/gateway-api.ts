import { systemDeadline } from '../executor/system-clock.js';
import { SagaError, type SagaErrorDetail, type SagaErrorKind } from '../journal/errors.js';

export interface GatewayOptions {
  /** Of the gateway's REST API, such as `http://gateway:8080`. */
  readonly url: string;
  readonly apiKey?: string;
}

export interface GatewayCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** JSON text. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long to wait for the answer. Default 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly errors?: readonly SagaErrorDetail[];
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** The REST API of the platform. Every call ends in an answer or in a `SagaError`. */
export class GatewayApi {
  private readonly base: string;

  constructor(private readonly options: GatewayOptions) {
    this.base = options.url.replace(/\/+$/, '');
  }

  /** The shape of the answer is the caller's claim: the API's reference says it. */
  async call<T>(call: GatewayCall): Promise<T> {
    const { status, text } = await this.send(call);
    const body = parsed(text);
    if (status >= 200 && status < 300 && body !== undefined) return body as T;
    throw problemOf(status, body as Problem | undefined);
  }

  private async send({ method, path, query = {}, body, headers, timeoutMs, signal }: GatewayCall) {
    const limit = systemDeadline(timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const { apiKey } = this.options;
    try {
      const response = await fetch(`${this.base}${path}${queryText(query)}`, {
        method,
        headers: {
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      const message = `no answer from the gateway at ${this.base}; try again`;
      throw new SagaError('unavailable', 'GATEWAY_UNAVAILABLE', message, { cause: error });
    }
  }
}

function problemOf(status: number, problem: Problem | undefined): SagaError {
  const kind = KINDS[status] ?? (status >= 500 ? 'unavailable' : 'invalid');
  const code = problem?.code ?? (kind === 'unavailable' ? 'GATEWAY_UNAVAILABLE' : 'GATEWAY_ANSWER_INVALID');
  const message = problem?.detail ?? problem?.title ?? `the gateway answered ${status} without saying why`;
  return new SagaError(kind, code, message, { details: problem?.errors ?? [] });
}

/** Others below 500: the call was wrong. Others above: try again. */
const KINDS: Readonly<Record<number, SagaErrorKind>> = {
  404: 'not-found',
  409: 'conflict',
  412: 'conflict',
  429: 'unavailable',
  500: 'internal',
};

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function queryText(query: NonNullable<GatewayCall['query']>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value])
      parameters.append(name, String(one));
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

/** A JSON object whose raw members are JSON text already; those that are undefined are left out. */
export function jsonBody(fields: object, raw: Readonly<Record<string, string | null | undefined>> = {}): string {
  const own = JSON.stringify(fields).slice(1, -1);
  const given = Object.entries(raw).flatMap(([name, text]) =>
    text === undefined || text === null ? [] : [`${JSON.stringify(name)}:${text}`],
  );
  return `{${[own, ...given].filter((part) => part !== '').join(',')}}`;
}

/** A value as one segment of a path. */
export const segment = encodeURIComponent;
