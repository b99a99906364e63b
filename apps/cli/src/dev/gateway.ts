import type { DemoGateway } from './demo-runs.js';

interface Problem {
  readonly code?: string;
  readonly detail?: string;
}

/** The few calls that the demo makes. */
export function demoGateway(url: string, apiKey: string | undefined): DemoGateway {
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  const call = async <T>(method: string, path: string, body?: string): Promise<T> => {
    const response = await fetch(new URL(path, url), { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as T;
    const problem = JSON.parse(text) as Problem;
    throw new Error(`${method} ${path} answered ${response.status} ${problem.code ?? ''}: ${problem.detail ?? text}`);
  };
  return {
    publish: async (spec) => void (await call('POST', '/v1/definitions', spec)),
    start: async (definitionId, definitionVersion, input) => {
      const body = JSON.stringify({ definitionId, definitionVersion, input });
      return (await call<{ runId: string }>('POST', '/v1/runs', body)).runId;
    },
    awaitEnd: async (runId, waitMs) => {
      const path = `/v1/runs/${runId}/result?waitMs=${waitMs}`;
      const { run, finished } = await call<{ run: { status: string }; finished: boolean }>('GET', path);
      return { status: run.status, finished };
    },
  };
}
