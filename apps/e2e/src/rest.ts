import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, workspaceRoot } from '@baton/testkit';

export interface RestAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** Parsed, or undefined where the body is no JSON. */
  readonly body: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** A caller of the REST API that keeps every answer as it came: also those that are no JSON. */
export class Rest {
  constructor(private readonly baseUrl: string) {}

  get(path: string): Promise<RestAnswer> {
    return this.send('GET', path);
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<RestAnswer> {
    return this.send('POST', path, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
  }

  async send(
    method: string,
    path: string,
    body?: string | Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<RestAnswer> {
    const response = await fetch(this.baseUrl + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : Buffer.from(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      text,
      body: parsed(text),
    };
  }

  async publishExample(): Promise<void> {
    const answer = await this.send('POST', '/v1/definitions', exampleFile('definition.json'), {
      'content-type': 'application/json',
    });
    if (answer.status >= 300) throw new Error(`publishing failed: ${answer.status} ${answer.text}`);
  }

  /** With a key, a start whose answer was lost (a killed coordinator) is asked again. */
  async startOrder(input: unknown, key?: string, timeoutMs = 15_000): Promise<string> {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const attempt = (): Promise<RestAnswer> =>
      this.post('/v1/runs', { definitionId: 'order-fulfilment', input }, headers);
    const answer =
      key === undefined
        ? await attempt()
        : await eventually(
            async () => {
              const given = await attempt();
              return given.status === 503 || given.status === 504 ? undefined : given;
            },
            { timeoutMs, what: `the start ${key} is answered` },
          );
    if (answer.status !== 201 && answer.status !== 200)
      throw new Error(`starting failed: ${answer.status} ${answer.text}`);
    return answer.body.runId as string;
  }

  /** Waits for the end of a run and answers its status. */
  async outcome(runId: string, timeoutMs = 60_000): Promise<string> {
    return (await this.ending(runId, timeoutMs)).status;
  }

  /** Waits for the end of a run and answers its status and what it gave back. */
  async ending(runId: string, timeoutMs = 60_000): Promise<{ readonly status: string; readonly output: unknown }> {
    return eventually(
      async () => {
        const answer = await this.get(`/v1/runs/${runId}/result?waitMs=5000`);
        if (answer.body?.finished !== true) throw new Error(`${runId} has not ended: ${answer.status} ${answer.text}`);
        return { status: answer.body.run.status as string, output: answer.body.output as unknown };
      },
      { timeoutMs, what: `run ${runId} ends` },
    );
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function exampleFile(name: string): string {
  return readFileSync(join(workspaceRoot, 'examples', 'order-fulfilment', name), 'utf8');
}

export interface DemoRun {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly expected: string;
}

export function demoRuns(): readonly DemoRun[] {
  return JSON.parse(exampleFile('demo-runs.json')) as DemoRun[];
}
