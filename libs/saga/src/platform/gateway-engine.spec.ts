import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { SagaClient } from '../client/client.js';
import { createPlatformClient } from './platform-client.js';

interface Asked {
  readonly call: string;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

const RUN_ID = '01a22fd2-21c2-7146-a18e-e16db5e5f487';
const run = {
  ...{ runId: RUN_ID, namespace: 'default', definitionId: 'order', definitionVersion: 1, status: 'RUNNING' },
  ...{ cause: null, compensation: 'NONE', epoch: 1, failure: null, startedAt: '2026-01-01T00:00:00.000Z' },
  ...{ endedAt: null, businessKey: null, stuckReason: null },
};

/** The gateway's end of the line: what was asked, and answers as the reference of the API has them. */
describe('a client over the gateway', () => {
  let server: Server;
  let client: SagaClient;
  const asked: Asked[] = [];
  let answers: (readonly [status: number, body: unknown])[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      void text(request).then((body) => {
        asked.push({ call: `${request.method} ${request.url}`, body, headers: request.headers });
        const [status, answer] = answers.shift() ?? [500, {}];
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    client = createPlatformClient({ platform: { url: `http://127.0.0.1:${port}/`, apiKey: 'key' } });
  });
  beforeEach(() => {
    asked.length = 0;
    answers = [];
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('starts a saga by its deployed version, with its keys, its trace and the API key', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    answers = [
      [200, { id: 'order', version: 3 }],
      [201, { runId: RUN_ID, created: true, status: 'RUNNING' }],
    ];
    const started = await client.start('order', { n: 1 }, { idempotencyKey: 'k', traceparent });
    expect(started).toMatchObject({ runId: RUN_ID, created: true });
    expect(asked.map(({ call }) => call)).toEqual(['GET /v1/definitions/order', 'POST /v1/runs']);
    expect(asked[1]).toMatchObject({
      body: '{"definitionId":"order","definitionVersion":3,"idempotencyKey":"k","input":{"n":1}}',
      headers: { traceparent, authorization: 'Bearer key' },
    });
  });

  it.each([
    [400, 'invalid', 'INPUT_INVALID'],
    [403, 'invalid', 'FORBIDDEN'],
    [404, 'not-found', 'RUN_NOT_FOUND'],
    [409, 'conflict', 'RUN_TERMINAL'],
    [429, 'unavailable', 'OVERLOADED'],
    [500, 'internal', 'INTERNAL'],
    [503, 'unavailable', 'UNAVAILABLE'],
  ])('says a problem with status %d as %s, with its code and details', async (status, kind, code) => {
    const errors = [{ pointer: '/input', code: 'X', message: 'not so' }];
    answers = [[status, { code, detail: 'it is so', errors }]];
    await expect(client.get(RUN_ID)).rejects.toMatchObject({ kind, code, message: 'it is so', details: errors });
  });

  it.each([
    [200, 'a page', 'GATEWAY_ANSWER_INVALID'],
    [502, '<html>', 'GATEWAY_UNAVAILABLE'],
  ])('does not take something that is no answer of a gateway for one: %d %s', async (status, body, code) => {
    answers = [[status, body]];
    await expect(client.get(RUN_ID)).rejects.toMatchObject({ code });
  });

  it('tells that nobody answers as unavailable', async () => {
    const nobody = createPlatformClient({ platform: { url: 'http://127.0.0.1:1' } });
    await expect(nobody.get(RUN_ID)).rejects.toMatchObject({ kind: 'unavailable', code: 'GATEWAY_UNAVAILABLE' });
  });

  it('lists by what the contract calls it', async () => {
    answers = [[200, { runs: [run], nextCursor: 'c2' }]];
    const page = await client.list({ sagaId: 'order', statuses: ['pending', 'failed'], pageSize: 10, cursor: 'c1' });
    expect(page).toMatchObject({ sagas: [{ runId: RUN_ID, status: 'running' }], nextCursor: 'c2' });
    expect(page.sagas[0]?.startedAt).toEqual(new Date('2026-01-01T00:00:00Z'));
    const query = new URLSearchParams(asked[0]?.call.split('?')[1]);
    expect(query.getAll('status')).toEqual(['RUNNING', 'FAILED']);
    expect(query.get('definitionId')).toBe('order');
  });

  it('waits for a result as long as it may, asks again, and gives up without ending the run', async () => {
    answers = [
      [200, { run, finished: false }],
      [200, { run, finished: false }],
    ];
    await expect(client.result(RUN_ID, { timeoutMs: 0 })).rejects.toMatchObject({ code: 'RESULT_TIMEOUT' });
    expect(asked[0]?.call).toBe(`GET /v1/runs/${RUN_ID}/result?waitMs=0`);
    const gone = AbortSignal.abort('the caller went');
    answers = [[200, { run, tasks: [], bufferedSignals: [] }]];
    await expect(client.result(RUN_ID, { signal: gone })).rejects.toMatchObject({ code: 'RESULT_ABORTED' });
  });

  it('commands with the id of the request, and refuses a transaction', async () => {
    answers = [
      [200, { status: 'COMPENSATING', duplicate: false }],
      [200, { run: { ...run, epoch: 2 }, tasks: [], bufferedSignals: [] }],
    ];
    expect(await client.cancel(RUN_ID, { requestId: 'c1', reason: 'no' })).toEqual({
      ...{ status: 'compensating', duplicate: false, epoch: 2 },
    });
    expect(asked[0]).toMatchObject({
      call: `POST /v1/runs/${RUN_ID}/cancel`,
      body: '{"requestId":"c1","reason":"no"}',
    });
    answers = [[200, { delivered: true, duplicate: false, signalId: 's' }]];
    await client.signal(RUN_ID, 'a/b', { by: 'ada' }, { signalId: 's' });
    expect(asked[2]).toMatchObject({
      call: `POST /v1/runs/${RUN_ID}/signals/a%2Fb`,
      body: '{"signalId":"s","payload":{"by":"ada"}}',
    });
    const tx = { query: () => Promise.resolve([]) };
    await expect(client.start('order', 1, { tx, version: 1 })).rejects.toMatchObject({
      code: 'TRANSACTIONS_UNSUPPORTED',
      details: [{ pointer: '/tx' }],
    });
  });
});
