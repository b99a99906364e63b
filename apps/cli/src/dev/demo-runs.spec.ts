import { runDemo, type DemoGateway } from './demo-runs.js';
import { layoutOf } from './layout.js';

describe('the demo', () => {
  it('publishes the example and tells for each run whether it ended as expected', async () => {
    const published: string[] = [];
    let runs = 0;
    const gateway: DemoGateway = {
      publish: async (spec) => void published.push((JSON.parse(spec) as { id: string }).id),
      start: async () => `run-${(runs += 1)}`,
      awaitEnd: async () => ({ status: 'SUCCEEDED', finished: true }),
    };
    const results = await runDemo({ layout: layoutOf(), gateway });
    expect(published).toEqual(['order-fulfilment']);
    expect(results.map(({ runId, status, expected, ok }) => ({ runId, status, expected, ok }))).toEqual([
      { runId: 'run-1', status: 'SUCCEEDED', expected: 'SUCCEEDED', ok: true },
      { runId: 'run-2', status: 'SUCCEEDED', expected: 'COMPENSATED', ok: false },
      { runId: 'run-3', status: 'SUCCEEDED', expected: 'SUCCEEDED', ok: true },
    ]);
  });

  it('tells where a run stands when the time is over', async () => {
    const gateway: DemoGateway = {
      publish: async () => undefined,
      start: async () => 'run',
      awaitEnd: async () => ({ status: 'RUNNING', finished: false }),
    };
    const results = await runDemo({ layout: layoutOf(), gateway, timeoutMs: 0 });
    expect(results.every(({ status, ok }) => status === 'RUNNING' && !ok)).toBe(true);
  });
});
