import { failed, unreachable, type CliError } from '../errors.js';

export interface GatewayOptions {
  readonly url: string;
  readonly apiKey: string | undefined;
}

/** An answer: its text as it came (payloads keep their digits), and the parts of it that this tool reads. */
export interface Answer<T> {
  readonly text: string;
  readonly view: T;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: string;
  readonly contentType?: string;
  /** How long to wait for the answer. */
  readonly timeoutMs?: number;
}

interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string; readonly message: string }[];
}

const defaultTimeoutMs = 30_000;
/** The gateway answers, but what it needs does not. */
const notThere = new Set([502, 503, 504]);

/** The REST API. Every call ends in an answer or in a CliError that says what happened. */
export class Gateway {
  private readonly base: string;

  constructor(private readonly options: GatewayOptions) {
    this.base = options.url.replace(/\/+$/, '');
  }

  async call<T>(call: Call): Promise<Answer<T>> {
    const response = await this.send(call);
    const text = await response.text().catch((error: unknown) => {
      throw this.noAnswer(error);
    });
    if (!response.ok) throw this.problem(response.status, text);
    return { text, view: parse<T>(text) ?? this.notOurs(response.status) };
  }

  private async send(call: Call): Promise<Response> {
    const { apiKey } = this.options;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`;
    if (call.body !== undefined) headers['content-type'] = call.contentType ?? 'application/json';
    try {
      return await fetch(`${this.base}${call.path}${queryText(call.query ?? {})}`, {
        method: call.method,
        headers,
        ...(call.body === undefined ? {} : { body: call.body }),
        signal: AbortSignal.timeout(call.timeoutMs ?? defaultTimeoutMs),
      });
    } catch (error) {
      throw this.noAnswer(error);
    }
  }

  private noAnswer(error: unknown): CliError {
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    const reason = cause?.code ?? cause?.message ?? (error as Error).message;
    return unreachable(`no answer from ${this.base} (${reason}): is the platform up? "./baton status" tells`);
  }

  private problem(status: number, text: string): CliError {
    const problem = parse<Problem>(text);
    const code = problem?.code;
    if (code === undefined) {
      const what = `${this.base} answered ${status} without saying why`;
      return notThere.has(status) ? unreachable(what) : failed(`${what}: is it a Baton gateway?`);
    }
    const message = `${code}: ${problem?.detail ?? problem?.title ?? `status ${status}`}`;
    if (notThere.has(status)) return unreachable(message);
    return failed(message, issueLines(problem?.errors ?? [], message));
  }

  private notOurs(status: number): never {
    throw failed(`${this.base} answered ${status} with something that is not JSON: is it a Baton gateway?`);
  }
}

/** One finding is often the message itself. */
function issueLines(issues: NonNullable<Problem['errors']>, message: string): string[] {
  return issues
    .filter((issue) => issues.length > 1 || !message.includes(issue.message))
    .map(({ pointer, message: what, code }) => `${pointer === '' ? '/' : pointer}: ${what} (${code})`);
}

function parse<T>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

function queryText(query: NonNullable<Call['query']>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/** A value as one segment of a path. */
export function segment(value: string): string {
  return encodeURIComponent(value);
}
