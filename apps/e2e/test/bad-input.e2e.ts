import { randomUUID } from 'node:crypto';
import { Platform } from '@baton/testkit';
import { Clients, demoRuns, refused, Rest, type RestAnswer } from '../src/index.js';

const json = { 'content-type': 'application/json' };
const order = demoRuns()[0]?.input;
const uuidV4 = randomUUID();
const ancient = '01800000-0000-7000-8000-000000000000';

describe('bad input at every edge', () => {
  let platform: Platform;
  let rest: Rest;
  let clients: Clients;

  beforeAll(async () => {
    platform = await Platform.start();
    rest = new Rest(platform.gatewayUrl);
    clients = new Clients(platform.coordinatorUrls[0] as string, platform.registryUrl);
    await rest.publishExample();
  }, 240_000);

  afterAll(async () => {
    clients?.close();
    await platform?.stop();
  }, 60_000);

  const expectProblem = (answer: RestAnswer, status: number, code: string): void => {
    expect({
      status: answer.status,
      code: answer.body?.code,
      text: answer.status === status ? '' : answer.text,
    }).toEqual({
      status,
      code,
      text: '',
    });
    expect(answer.contentType).toContain('application/problem+json');
    expect(answer.body).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
    expect(answer.text).not.toMatch(/\bat .*\.js|SELECT |node_modules/);
  };

  const start = (body: Record<string, unknown>): Promise<RestAnswer> =>
    rest.post('/v1/runs', { definitionId: 'order-fulfilment', input: order, ...body });

  it.each([
    ['malformed JSON', '{"definitionId":'],
    ['an empty body', ''],
    ['an array as body', '[]'],
  ])('REST start with %s', async (_name, body) => {
    const answer = await rest.send('POST', '/v1/runs', body, json);
    expectProblem(answer, 400, answer.body?.code);
    expect(answer.body.code).toMatch(/^[A-Z_]+$/);
  });

  it('a body of 5 MB is 413 and names the limit (B73)', async () => {
    const answer = await rest.send(
      'POST',
      '/v1/runs',
      `{"definitionId":"order-fulfilment","input":"${'x'.repeat(5_000_000)}"}`,
      json,
    );
    expect(answer.status).toBe(413);
    expect(answer.body.detail).toMatch(/\d/);
  });

  it('unknown fields are all named with their pointers', async () => {
    const answer = await start({ definitonVersion: 1, extra: true });
    expect(answer.status).toBe(400);
    const pointers = answer.body.errors.map((error: { pointer: string }) => error.pointer);
    expect(pointers).toEqual(expect.arrayContaining(['/definitonVersion', '/extra']));
  });

  it('input that the schema of the definition refuses is 400 with every pointer', async () => {
    const answer = await start({ input: { orderId: '', customer: 'c', items: [], payment: 'card', shipping: 's' } });
    expect(answer.status).toBe(400);
    const pointers = answer.body.errors.map((error: { pointer: string }) => error.pointer).join(' ');
    expect(pointers).toMatch(/orderId/);
    expect(pointers).toMatch(/items/);
  });

  it.each([
    ['a run id that is no UUIDv7', { runId: uuidV4 }, 400, 'RUN_ID_NOT_UUIDV7'],
    ['a run id that is too old', { runId: ancient }, 400, 'RUN_ID_TOO_OLD'],
    ['an unknown definition', { definitionId: 'nobody-knows' }, 404, 'DEFINITION_NOT_FOUND'],
    ['an unknown version', { definitionVersion: 99 }, 404, 'DEFINITION_NOT_FOUND'],
    ['an unknown start node', { startNodeId: 'nowhere' }, 400, 'NODE_NOT_FOUND'],
  ])('REST start with %s', async (_name, body, status, code) => {
    const answer = await start(body);
    expectProblem(answer, status, code);
  });

  it('B67: a NUL character is refused with its own code, its escaped text is kept', async () => {
    const nul = await rest.send(
      'POST',
      '/v1/runs',
      '{"definitionId":"order-fulfilment","input":{"a":"x\\u0000y"}}',
      json,
    );
    expectProblem(nul, 400, 'PAYLOAD_NUL');
    const literal = await start({ input: { ...order, orderId: 'literal \\u0000 text' } });
    expect(literal.status).toBe(201);
  });

  it('B72: deep nesting is refused before anything walks it', async () => {
    for (const depth of [200, 4_000, 20_000]) {
      const deep = '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
      const answer = await rest.send('POST', '/v1/runs', `{"definitionId":"order-fulfilment","input":${deep}}`, json);
      expectProblem(answer, 400, 'PAYLOAD_TOO_DEEP');
    }
  });

  it('a lone surrogate is refused', async () => {
    const answer = await rest.send(
      'POST',
      '/v1/runs',
      '{"definitionId":"order-fulfilment","input":{"a":"\\ud800"}}',
      json,
    );
    expectProblem(answer, 400, 'PAYLOAD_SURROGATE');
  });

  it.each([
    ['/v1/runs?pageSize=0'],
    ['/v1/runs?pageSize=1e1'],
    ['/v1/runs?pageSize=-1'],
    ['/v1/runs?status=DONE'],
    ['/v1/runs?unknown=1'],
    ['/v1/runs?cursor=garbage'],
    ['/v1/runs/not-a-uuid'],
    [`/v1/runs/${ancient}?payloads=yes`],
    [`/v1/runs/${ancient}/history?afterSeq=-1`],
  ])('B114: GET %s is 400', async (path) => {
    const answer = await rest.get(path);
    expect({ path, status: answer.status, contentType: answer.contentType }).toEqual({
      path,
      status: 400,
      contentType: expect.stringContaining('application/problem+json'),
    });
  });

  it.each([
    ['GET', `/v1/runs/${ancient}`],
    ['GET', `/v1/runs/${ancient}/history`],
    ['GET', `/v1/runs/${ancient}/result`],
    ['POST', `/v1/runs/${ancient}/cancel`],
    ['POST', `/v1/runs/${ancient}/retry`],
    ['POST', `/v1/runs/${ancient}/signals/x`],
    ['GET', '/v1/nothing-here'],
    ['GET', '/v1/definitions/nobody-knows'],
  ])('%s %s of something that does not exist is 404 with a code', async (method, path) => {
    const answer = await rest.send(method, path, method === 'POST' ? '{}' : undefined, json);
    expect({ status: answer.status, problem: typeof answer.body?.code }).toEqual({ status: 404, problem: 'string' });
  });

  it('B78: one key with another body is 422, the first run is untouched', async () => {
    const first = await rest.post(
      '/v1/runs',
      { definitionId: 'order-fulfilment', input: order },
      { 'idempotency-key': 'K-78' },
    );
    expect(first.status).toBe(201);
    const reordered = Object.fromEntries(Object.entries(order ?? {}).reverse());
    const same = await rest.post(
      '/v1/runs',
      { input: reordered, definitionId: 'order-fulfilment' },
      { 'idempotency-key': 'K-78' },
    );
    expect({ status: same.status, runId: same.body.runId }).toEqual({ status: 200, runId: first.body.runId });
    const other = await rest.post(
      '/v1/runs',
      { definitionId: 'order-fulfilment', input: { ...order, orderId: 'B' } },
      { 'idempotency-key': 'K-78' },
    );
    expectProblem(other, 422, 'IDEMPOTENCY_MISMATCH');
    expect(await rest.outcome(first.body.runId)).toBe('SUCCEEDED');
  });

  it('B77: fifty starts at once with one key make one run', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        rest.post('/v1/runs', { definitionId: 'order-fulfilment', input: order }, { 'idempotency-key': 'K-77' }),
      ),
    );
    expect(new Set(answers.map((answer) => answer.body.runId)).size).toBe(1);
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(49);
  });

  it('B88: a definition with many faults is refused with all of them at once', async () => {
    const answer = await rest.post('/v1/definitions', {
      id: 'Bad Id',
      version: 0,
      nodes: [
        { id: 'a', type: 'task', queue: 'Q', after: ['b'] },
        { id: 'b', type: 'task', queue: 'q', after: ['a'], retry: { maxAttempts: 1.5 } },
        { id: 'b', type: 'wait', signal: 's', timeout: 'PT30D' },
        { id: 'c', type: 'task', queue: 'q', after: ['nobody'] },
      ],
    });
    expect(answer.status).toBe(400);
    const pointers = answer.body.errors.map((error: { pointer: string }) => error.pointer);
    expect(pointers).toEqual(
      expect.arrayContaining(['/id', '/version', '/nodes/0/queue', '/nodes/1/retry/maxAttempts', '/nodes/2/timeout']),
    );
    expect(pointers.length).toBeGreaterThanOrEqual(7);
  });

  it('another content of a published version is 409', async () => {
    const spec = { id: 'published', version: 1, nodes: [{ id: 'a', type: 'wait', signal: 's' }] };
    expect((await rest.post('/v1/definitions', spec)).status).toBe(201);
    expect((await rest.post('/v1/definitions', spec)).status).toBe(200);
    const other = await rest.post('/v1/definitions', { ...spec, nodes: [{ id: 'b', type: 'wait', signal: 's' }] });
    expectProblem(other, 409, 'DEFINITION_VERSION_EXISTS');
  });

  it.each([
    ['missing ids', {}],
    ['a wrong status', { runId: ancient, taskId: ancient, nodeId: 'n', attempt: 1, status: 'done' }],
    ['a negative attempt', { runId: ancient, taskId: ancient, nodeId: 'n', attempt: -1, status: 'completed' }],
    ['ids that are no UUIDs', { runId: 'x', taskId: 'y', nodeId: 'n', attempt: 1, status: 'completed' }],
  ])('a report with %s is INVALID_ARGUMENT', async (_name, report) => {
    expect((await refused(clients.report(report))).grpcCode).toBe(3);
  });

  it('an acquire without ids is INVALID_ARGUMENT, a legacy report finds its ids in the metadata', async () => {
    expect((await refused(clients.acquire({ owner: 'o' }))).grpcCode).toBe(3);
    const legacy = await clients.report({
      taskId: ancient,
      status: 'completed',
      metadata: { run_id: ancient, node_id: 'n' },
    });
    expect(legacy.acknowledged).toBe(true);
  });

  it('after all of this every process is alive and a run still passes', async () => {
    expect([...platform.services.values()].filter((service) => !service.running)).toEqual([]);
    expect(await rest.outcome(await rest.startOrder(order))).toBe('SUCCEEDED');
  });
});
