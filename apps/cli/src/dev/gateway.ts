import type { Gateway } from '../client/gateway.js';
import { jsonBody, RawJson } from '../client/body.js';
import type { ResultView, StartedView } from '../client/views.js';
import type { DemoGateway } from './demo-runs.js';

/** The few calls that the demo makes. */
export function demoGateway(gateway: Gateway): DemoGateway {
  return {
    publish: async (spec) => {
      await gateway.call({ method: 'POST', path: '/v1/definitions', body: spec });
    },
    start: async (definitionId, definitionVersion, input) => {
      const body = jsonBody({ definitionId, definitionVersion, input: new RawJson(JSON.stringify(input)) });
      const { view } = await gateway.call<StartedView>({ method: 'POST', path: '/v1/runs', body });
      return view.runId;
    },
    awaitEnd: async (runId, waitMs) => {
      const { view } = await gateway.call<ResultView>({
        method: 'GET',
        path: `/v1/runs/${runId}/result`,
        query: { waitMs },
      });
      return { status: view.run.status, finished: view.finished };
    },
  };
}
