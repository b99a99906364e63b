import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runV1 } from '@baton/contracts';
import { type RunningService, startService } from '@baton/platform';
import { ApiError } from '@baton/wire';
import { ROUTES } from './http/routes.js';
import * as shape from './rest/schemas.js';
import { apiGateway } from './service.js';
import { aDefinition, aRun, FakeUpstreams, RUN_ID } from './testing/fake-upstreams.js';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

jest.setTimeout(20_000);

describe('the gateway', () => {
  const upstreams = new FakeUpstreams();
  let gateway: RunningService;
  let base: string;

  beforeAll(async () => {
    await upstreams.open();
    gateway = await start({});
    base = `http://127.0.0.1:${gateway.ports['http']}`;
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(true);
    upstreams.close();
  });

  beforeEach(() => upstreams.reset());

  function start(env: Record<string, string>): Promise<RunningService> {
    return startService(apiGateway, {
      BATON_HTTP_PORT: '0',
      BATON_ADMIN_PORT: '0',
      BATON_COORDINATOR_URL: `127.0.0.1:${upstreams.port}`,
      BATON_REGISTRY_URL: `127.0.0.1:${upstreams.port}`,
      BATON_LOG_LEVEL: 'silent',
      ...env,
    });
  }

  async function send(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`${base}${path}`, { method, ...init });
    const text = await response.text();
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    if (response.status >= 400) {
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      shape.problem.strict().parse(body);
      expect(body['status']).toBe(response.status);
      expect(text).not.toMatch(/node_modules|\.ts:|at .*\(/);
    }
    return { status: response.status, headers: response.headers, text, body };
  }

  function post(path: string, json: string | object, headers: Record<string, string> = {}): Promise<Answer> {
    const body = typeof json === 'string' ? json : JSON.stringify(json);
    return send('POST', path, { body, headers: { 'content-type': 'application/json', ...headers } });
  }

  const codes = (answer: Answer) =>
    (answer.body['errors'] as { pointer: string; code: string }[]).map(({ pointer, code }) => `${pointer} ${code}`);

  const prepareStart = (created = true) =>
    upstreams.on('startRun', (request: runV1.StartRunRequest) => ({
      runId: request.runId === '' ? RUN_ID : request.runId,
      created,
      status: runV1.RunStatus.RUN_STATUS_RUNNING,
    }));

  describe('payloads', () => {
    const payload =
      '{ "z": 1,"n":9007199254740993,\n"a": [1.0, 1e400, -0, "\\u00e9\\/é😀"], "__proto__": {"constructor":1} }';

    it('passes the input of a run on byte for byte (B70)', async () => {
      prepareStart();
      const answer = await post('/v1/runs', `{"definitionId":"orders", "input" : ${payload} }`);
      expect(answer.status).toBe(201);
      expect(upstreams.last('startRun').request['input']).toBe(payload);
    });

    it('tells an absent input from null', async () => {
      prepareStart();
      await post('/v1/runs', '{"definitionId":"orders"}');
      expect(upstreams.last('startRun').request['input']).toBeUndefined();
      await post('/v1/runs', '{"definitionId":"orders","input":null}');
      expect(upstreams.last('startRun').request['input']).toBe('null');
    });

    it('embeds payloads of runs and tasks as they are (B69, B70)', async () => {
      upstreams.on('getRun', () => ({
        run: aRun(),
        tasks: [
          runV1.Task.fromPartial({
            taskId: 't',
            nodeId: 'a',
            kind: 'forward',
            status: 7,
            input: payload,
            output: '[]',
          }),
        ],
        input: payload,
        output: '18446744073709551616',
        bufferedSignals: [],
      }));
      const answer = await send('GET', `/v1/runs/${RUN_ID}?payloads=true`);
      expect(answer.text).toContain(`"input":${payload},"output":[]`);
      expect(answer.text.endsWith(`"input":${payload},"output":18446744073709551616}`)).toBe(true);
      shape.runDetails.strict().parse(answer.body);
    });

    it.each([
      ['larger than 1 MiB', JSON.stringify('x'.repeat(1_048_576)), 413, 'PAYLOAD_TOO_LARGE'],
      ['deeper than 100', `${'['.repeat(101)}${']'.repeat(101)}`, 400, 'PAYLOAD_TOO_DEEP'],
      ['20,000 deep', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`, 400, 'PAYLOAD_TOO_DEEP'],
      ['with an escaped NUL', '"\\u0000"', 400, 'PAYLOAD_NUL'],
      ['with a lone surrogate', '"\\ud800"', 400, 'PAYLOAD_SURROGATE'],
    ])('refuses a payload %s (B67, B72, B73)', async (_what, input, status, code) => {
      const answer = await post('/v1/runs', `{"definitionId":"orders","input":${input}}`);
      expect([answer.status, answer.body['code']]).toEqual([status, code]);
      expect(upstreams.calls).toEqual([]);
    });

    it.each([
      ['exactly 1 MiB', JSON.stringify('x'.repeat(1_048_574))],
      ['exactly 100 deep', `${'['.repeat(100)}${']'.repeat(100)}`],
      ['a literal backslash-u0000', '"\\\\u0000"'],
    ])('takes a payload of %s (B67, B72, B73)', async (_what, input) => {
      prepareStart();
      expect((await post('/v1/runs', `{"definitionId":"orders","input":${input}}`)).status).toBe(201);
      expect(upstreams.last('startRun').request['input']).toBe(input);
    });
  });

  describe('bodies', () => {
    const json = { 'content-type': 'application/json' };
    it.each([
      ['malformed JSON', { body: '{"definitionId":', headers: json }, 400, 'MALFORMED_JSON'],
      ['a JSON array', { body: '[]', headers: json }, 400, 'MALFORMED_JSON'],
      ['two JSON values', { body: '{} {}', headers: json }, 400, 'MALFORMED_JSON'],
      ['no body', { headers: json }, 400, 'BODY_REQUIRED'],
      ['a form', { body: new URLSearchParams({ a: '1' }) }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
      ['text', { body: '{}', headers: { 'content-type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [
        'another charset',
        { body: '{}', headers: { 'content-type': 'application/json; charset=latin1' } },
        415,
        'UNSUPPORTED_CHARSET',
      ],
      [
        'compressed',
        { body: '{}', headers: { ...json, 'content-encoding': 'gzip' } },
        415,
        'UNSUPPORTED_CONTENT_ENCODING',
      ],
      ['bad UTF-8', { body: Buffer.from([0x7b, 0xff, 0x7d]), headers: json }, 400, 'BAD_UTF8'],
      ['a raw NUL', { body: '{"a":"\0"}', headers: json }, 400, 'PAYLOAD_NUL'],
      ['5 MB and one byte', { body: 'x'.repeat(5 * 1024 * 1024 + 1), headers: json }, 413, 'BODY_TOO_LARGE'],
    ] as [string, RequestInit, number, string][])('refuses %s', async (_what, init, status, code) => {
      const answer = await send('POST', '/v1/runs', init);
      expect([answer.status, answer.body['code']]).toEqual([status, code]);
    });

    it('refuses a body without a length that grows too large', async () => {
      const chunk = Buffer.alloc(1024 * 1024, 0x20);
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let n = 0; n < 6; n += 1) controller.enqueue(chunk);
          controller.close();
        },
      });
      const init = { body: stream, duplex: 'half', headers: json } as RequestInit;
      expect((await send('POST', '/v1/runs', init)).body['code']).toBe('BODY_TOO_LARGE');
    });

    it('names every wrong member at once, with pointers', async () => {
      const answer = await post(
        '/v1/runs',
        '{"definitionId":"A.b","definitionVersion":0,"runId":"x","a/b":1,"startedAt":"yesterday","businessKey":"","businessKey":"b"}',
      );
      expect(answer.body['code']).toBe('INVALID_ARGUMENT');
      expect(codes(answer).sort()).toEqual([
        '/a~1b UNKNOWN_FIELD',
        '/businessKey DUPLICATE_KEY',
        '/definitionId BAD_FORMAT',
        '/definitionVersion OUT_OF_RANGE',
        '/runId NOT_A_UUID',
        '/startedAt BAD_FORMAT',
      ]);
    });

    it.each([
      ['definitionVersion', '3544790567247868102', 'OUT_OF_RANGE'],
      ['definitionVersion', '1.5', 'WRONG_TYPE'],
      ['definitionVersion', '"1"', 'WRONG_TYPE'],
      ['definitionVersion', 'true', 'WRONG_TYPE'],
      ['businessKey', '7', 'WRONG_TYPE'],
      ['__proto__', '{}', 'UNKNOWN_FIELD'],
    ])('refuses %s = %s', async (field, value, code) => {
      const answer = await post('/v1/runs', `{"definitionId":"orders","${field}":${value}}`);
      expect(codes(answer)).toEqual([`/${field} ${code}`]);
    });

    it.each([
      '2024-04-31T10:00:00Z',
      '2023-02-29T00:00:00Z',
      '2100-02-29T00:00:00Z',
      '2024-13-01T00:00:00Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01T10:00:60Z',
      '2024-01-01T10:00:00+25:00',
      '2026-01-01T00:00:00',
      '2026-01-01',
      '+010000-01-01T00:00:00Z',
      '1767225600000',
    ])('B56: refuses an instant that there is not, or that has no zone: %s', async (startedAt) => {
      expect(codes(await post('/v1/runs', { definitionId: 'orders', startedAt }))).toEqual(['/startedAt BAD_FORMAT']);
      expect(upstreams.calls).toEqual([]);
    });

    it.each([
      ['2024-02-29T23:59:59.999+02:00', 1_709_243_999_999n],
      ['1970-01-01T00:00:00Z', 1n],
      ['0000-01-01T00:00:00Z', 1n],
    ])('B56: hands the instant %s on, and never as none', async (startedAt, expected) => {
      prepareStart();
      expect((await post('/v1/runs', { definitionId: 'orders', startedAt })).status).toBe(201);
      expect(upstreams.last('startRun').request['startedAtUnixMs']).toBe(expected);
    });

    it('lets commands come without a body', async () => {
      upstreams.on('cancelRun', () => ({ status: runV1.RunStatus.RUN_STATUS_CANCELLED, duplicate: false }));
      const answer = await send('POST', `/v1/runs/${RUN_ID}:cancel`);
      expect(answer.body).toEqual({ status: 'CANCELLED', duplicate: false });
      expect(upstreams.last('cancelRun').request['requestId']).toMatch(/^[0-9a-f-]{36}$/);
    });
  });

  describe('keys', () => {
    it('starts once for each Idempotency-Key, and says when it is a replay', async () => {
      prepareStart(false);
      const answer = await post('/v1/runs', { definitionId: 'orders' }, { 'idempotency-key': 'k-1' });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('idempotency-replayed')).toBe('true');
      expect(answer.headers.get('location')).toBe(`/v1/runs/${RUN_ID}`);
      expect(upstreams.last('startRun').request).toMatchObject({ idempotencyKey: 'k-1', runId: '' });
    });

    it('makes a run id for a start without any key, so that its own repetition is safe', async () => {
      prepareStart(false);
      const answer = await post('/v1/runs', { definitionId: 'orders' });
      expect(answer.status).toBe(201);
      expect(upstreams.last('startRun').request['runId']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    });

    it('refuses two different keys, and keys that are no header text', async () => {
      const body = { definitionId: 'orders', idempotencyKey: 'a' };
      expect(codes(await post('/v1/runs', body, { 'idempotency-key': 'b' }))).toEqual(['/idempotencyKey KEY_MISMATCH']);
      const spaces = await post('/v1/runs', { definitionId: 'orders' }, { 'idempotency-key': 'a b' });
      expect(codes(spaces)).toEqual(['/header/Idempotency-Key BAD_FORMAT']);
    });

    it('takes the id of a signal from the header or the body', async () => {
      upstreams.on('signalRun', (request: runV1.SignalRunRequest) => ({
        delivered: false,
        duplicate: true,
        signalId: request.signalId,
      }));
      const path = `/v1/runs/${RUN_ID}/signals/paid%2Ffull`;
      const answer = await post(path, '{"payload":[1]}', { 'idempotency-key': 's-1' });
      expect(answer.body).toEqual({ delivered: false, duplicate: true, signalId: 's-1' });
      expect(answer.headers.get('idempotency-replayed')).toBe('true');
      expect(upstreams.last('signalRun').request).toMatchObject({ name: 'paid/full', payload: '[1]', signalId: 's-1' });
    });
  });

  describe('queries (B114)', () => {
    beforeEach(() => {
      upstreams.on('getRun', () => ({ run: aRun(), tasks: [], bufferedSignals: [] }));
      upstreams.on('listRuns', () => ({ runs: [aRun()], nextCursor: '' }));
    });

    it('takes false for false', async () => {
      await send('GET', `/v1/runs/${RUN_ID}?payloads=false`);
      expect(upstreams.last('getRun').request['includePayloads']).toBe(false);
    });

    it.each(['payloads=0', 'payloads=no', 'payloads=', 'payloads=TRUE', 'payloads=true&payloads=true', 'payload=true'])(
      'refuses ?%s',
      async (query) => {
        expect((await send('GET', `/v1/runs/${RUN_ID}?${query}`)).status).toBe(400);
      },
    );

    it.each(['1e3', '-1', '0x10', '0', '101', '1.0', ' 1', '+1', '01', '', '99999999999999999999'])(
      'refuses pageSize=%s',
      async (value) => {
        const answer = await send('GET', `/v1/runs?pageSize=${encodeURIComponent(value)}`);
        expect(answer.status).toBe(400);
        expect(codes(answer)[0]).toMatch(/^\/query\/pageSize /);
      },
    );

    it('filters, and leaves nextCursor out at the end', async () => {
      const answer = await send(
        'GET',
        '/v1/runs?status=RUNNING&status=FAILED&definitionId=orders&definitionVersion=3&pageSize=100&cursor=abc&businessKey=a%20b',
      );
      expect(answer.status).toBe(200);
      expect(answer.body).not.toHaveProperty('nextCursor');
      shape.runPage.strict().parse(answer.body);
      expect(upstreams.last('listRuns').request).toEqual({
        statuses: [1, 4],
        definitionId: 'orders',
        definitionVersion: 3,
        pageSize: 100,
        cursor: 'abc',
        businessKey: 'a b',
      });
    });

    it('refuses NUL characters in queries and paths', async () => {
      expect(codes(await send('GET', '/v1/runs?businessKey=a%00'))).toEqual(['/query/businessKey NUL']);
      expect(codes(await send('POST', `/v1/runs/${RUN_ID}/signals/%00`))).toEqual(['/path/name NUL']);
    });

    it('puts pointers of a refused question below /query', async () => {
      upstreams.on('listRuns', () => {
        throw new ApiError('invalid', 'INVALID_ARGUMENT', 'm', [{ pointer: '/business_key', code: 'X', message: 'm' }]);
      });
      expect(codes(await send('GET', '/v1/runs?businessKey=b'))).toEqual(['/query/businessKey X']);
    });

    it('refuses a status that does not exist', async () => {
      expect(codes(await send('GET', '/v1/runs?status=DONE'))).toEqual(['/query/status/0 NOT_ALLOWED']);
    });

    it('treats a trailing slash as nothing, without a redirect', async () => {
      expect((await send('GET', '/v1/runs/')).status).toBe(200);
      prepareStart();
      expect((await post('/v1/runs/', { definitionId: 'orders' })).status).toBe(201);
    });

    it('finds what has a long id: a signal of 200 characters, a key of 255', async () => {
      upstreams.on('signalRun', () => ({ delivered: true, duplicate: false, signalId: 's' }));
      const name = `${'n'.repeat(190)}/%2F ü`;
      const answer = await post(`/v1/runs/${RUN_ID}/signals/${encodeURIComponent(name)}/`, '{"payload":1}');
      expect(answer.status).toBe(200);
      expect(upstreams.last('signalRun').request['name']).toBe(name);
      const tooLong = await post(`/v1/runs/${RUN_ID}/signals/${'n'.repeat(201)}`, '{"payload":1}');
      expect(codes(tooLong)).toEqual(['/path/name TOO_LONG']);
    });

    it('keeps a long business key and an encoded slash', async () => {
      const key = 'k'.repeat(255);
      expect((await send('GET', `/v1/runs?businessKey=${key}`)).status).toBe(200);
      expect(upstreams.last('listRuns').request['businessKey']).toBe(key);
      expect(codes(await send('GET', '/v1/runs/a%2Fb'))).toEqual(['/path/runId NOT_A_UUID']);
    });
  });

  describe('routes', () => {
    it('answers 404 and 405 as problems', async () => {
      expect((await send('GET', '/v1/nothing')).body['code']).toBe('ROUTE_NOT_FOUND');
      const answer = await send('PUT', `/v1/runs/${RUN_ID}`);
      expect(answer.body['code']).toBe('METHOD_NOT_ALLOWED');
      expect(answer.headers.get('allow')).toBe('GET');
      expect((await send('GET', '/v1/runs/%zz')).body['code']).toBe('BAD_PATH');
    });

    it('has a handler for every route of the table, and none beside it', async () => {
      for (const [method, template] of ROUTES) {
        const path = template
          .replace('{runId}', RUN_ID)
          .replace('{version}', '1')
          .replace(/\{\w+\}/, 'orders');
        const answer = await send(
          method,
          path,
          method === 'POST' ? { body: '{', headers: { 'content-type': 'application/json' } } : {},
        );
        expect([template, answer.body['code']]).not.toEqual([template, 'ROUTE_NOT_FOUND']);
        expect([template, answer.body['code']]).not.toEqual([template, 'METHOD_NOT_ALLOWED']);
      }
    });

    it('describes every route in OpenAPI 3.1', async () => {
      const { body } = await send('GET', '/openapi.json');
      expect(body['openapi']).toBe('3.1.0');
      const paths = body['paths'] as Record<string, Record<string, { operationId: string }>>;
      const described = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(described.sort()).toEqual(ROUTES.map(([method, path]) => `${method} ${path}`).sort());
      const ids = Object.values(paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId }) => operationId),
      );
      expect(new Set(ids).size).toBe(ids.length);
      const text = JSON.stringify(body);
      const schemas = (body['components'] as { schemas: Record<string, unknown> }).schemas;
      for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
        expect(schemas).toHaveProperty(name ?? '');
      expect(text).not.toContain('$defs');
    });

    it.each([
      ['cancel', 'cancelRun', { status: 2, duplicate: false }, { status: 'COMPENSATING', duplicate: false }],
      ['retry', 'retryRun', { status: 1, epoch: 2, duplicate: true }, { status: 'RUNNING', epoch: 2, duplicate: true }],
      [
        'retry-compensation',
        'retryCompensation',
        { status: 2, epoch: 3, duplicate: false },
        { status: 'COMPENSATING', epoch: 3, duplicate: false },
      ],
    ])('takes %s behind a colon and behind a slash', async (name, method, answer, body) => {
      upstreams.on(method, () => answer);
      for (const separator of [':', '/']) {
        const reply = await post(`/v1/runs/${RUN_ID}${separator}${name}`, { requestId: `r${separator}` });
        expect(reply.body).toEqual(body);
        expect(upstreams.last(method).request).toMatchObject({ runId: RUN_ID, requestId: `r${separator}` });
      }
    });

    it('retries on the deployed version with new input', async () => {
      upstreams.on('retryRun', () => ({ status: 1, epoch: 2, duplicate: false }));
      await post(`/v1/runs/${RUN_ID}:retry`, '{"definitionVersion":"deployed","fromNodeId":"a","input":{"n":1.0}}');
      expect(upstreams.last('retryRun').request).toMatchObject({
        definitionVersion: -1,
        fromNodeId: 'a',
        input: '{"n":1.0}',
      });
    });
  });

  describe('definitions', () => {
    it('publishes JSON and YAML as text', async () => {
      upstreams.on('publishDefinition', () => ({
        definition: aDefinition({ spec: '{"id":"orders"}' }),
        created: true,
        issues: [],
      }));
      const answer = await post('/v1/definitions', ' {"id": "orders"}');
      expect(answer.status).toBe(201);
      expect(answer.headers.get('location')).toBe('/v1/definitions/orders/versions/3');
      shape.definitionPublished.strict().parse(answer.body);
      expect(upstreams.last('publishDefinition').request).toEqual({ spec: ' {"id": "orders"}', noDeploy: false });
      const yaml = { body: 'id: orders\n', headers: { 'content-type': 'application/yaml' } };
      await send('POST', '/v1/definitions?deploy=false', yaml);
      expect(upstreams.last('publishDefinition').request).toEqual({ spec: 'id: orders\n', noDeploy: true });
    });

    it('hands the issues of a refused definition on', async () => {
      upstreams.on('publishDefinition', () => {
        throw new ApiError('invalid', 'DEFINITION_INVALID', 'the definition has 1 error', [
          { pointer: '/nodes/0/after_x', code: 'UNKNOWN_NODE', message: 'm' },
        ]);
      });
      const answer = await post('/v1/definitions', '{}');
      expect([answer.status, answer.body['code']]).toEqual([400, 'DEFINITION_INVALID']);
      expect(codes(answer)).toEqual(['/nodes/0/after_x UNKNOWN_NODE']);
    });

    it.each(['0', '-1', '1e1', 'x', '01', '2147483648'])('refuses version %s', async (version) => {
      expect((await send('GET', `/v1/definitions/orders/versions/${version}`)).status).toBe(400);
    });

    it('gets, lists, deploys and deletes', async () => {
      upstreams.on('getDefinition', () => ({ definition: aDefinition({ spec: '{"n":9007199254740993}' }) }));
      upstreams.on('deployDefinition', () => ({ definition: aDefinition() }));
      upstreams.on('deleteDefinition', () => ({}));
      upstreams.on('listDefinitions', () => ({ definitions: [aDefinition()], nextCursor: 'next' }));
      expect((await send('GET', '/v1/definitions/orders')).text).toContain('"spec":{"n":9007199254740993}');
      expect(upstreams.last('getDefinition').request).toEqual({ id: 'orders', version: 0 });
      await send('GET', '/v1/definitions/orders/versions/3');
      expect(upstreams.last('getDefinition').request).toEqual({ id: 'orders', version: 3 });
      expect((await send('POST', '/v1/definitions/orders/versions/3:deploy')).status).toBe(200);
      expect((await send('DELETE', '/v1/definitions/orders/versions/3')).body['deleted']).toBe(true);
      expect((await send('GET', '/v1/definitions/orders/versions')).body['nextCursor']).toBe('next');
      expect(upstreams.last('listDefinitions').request).toEqual({ id: 'orders', pageSize: 0, cursor: '' });
    });
  });

  describe('refusals from behind (B112)', () => {
    it.each([
      ['invalid', 'BAD', 400],
      ['unauthenticated', 'UNAUTHENTICATED', 401],
      ['forbidden', 'FORBIDDEN', 403],
      ['not-found', 'RUN_NOT_FOUND', 404],
      ['conflict', 'DEFINITION_VERSION_EXISTS', 409],
      ['conflict', 'IDEMPOTENCY_MISMATCH', 422],
      ['precondition', 'RUN_TERMINAL', 409],
      ['too-large', 'PAYLOAD_TOO_LARGE', 413],
      ['unavailable', 'DATABASE_UNAVAILABLE', 503],
      ['internal', 'INTERNAL', 500],
    ] as const)('maps %s %s to %i', async (kind, code, status) => {
      upstreams.on('getRun', () => {
        throw new ApiError(kind, code, 'text of the service');
      });
      const answer = await send('GET', `/v1/runs/${RUN_ID}`);
      expect([answer.status, answer.body['code']]).toEqual([status, code]);
      expect(answer.body['detail']).toBe(kind === 'internal' ? 'internal error' : 'text of the service');
      expect(answer.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    });

    it('turns pointers of a proto message into pointers of the body', async () => {
      prepareStart();
      upstreams.on('startRun', () => {
        throw new ApiError('invalid', 'INVALID_ARGUMENT', 'm', [
          { pointer: '/start_node_id', code: 'X', message: 'm' },
        ]);
      });
      expect(codes(await post('/v1/runs', { definitionId: 'orders' }))).toEqual(['/startNodeId X']);
    });

    it('puts pointers into the input of a run below /input', async () => {
      upstreams.on('startRun', () => {
        throw new ApiError('invalid', 'INPUT_INVALID', 'm', [{ pointer: '/order_id', code: 'REQUIRED', message: 'm' }]);
      });
      expect(codes(await post('/v1/runs', { definitionId: 'orders' }))).toEqual(['/input/order_id REQUIRED']);
    });

    it('repeats a call that was UNAVAILABLE once', async () => {
      let tries = 0;
      upstreams.on('getRun', () => {
        tries += 1;
        if (tries === 1) throw new ApiError('unavailable', 'DATABASE_UNAVAILABLE', 'not now');
        return { run: aRun(), tasks: [], bufferedSignals: [] };
      });
      expect((await send('GET', `/v1/runs/${RUN_ID}`)).status).toBe(200);
      expect(tries).toBe(2);
    });

    it('answers 503 when nobody is behind, and is not ready', async () => {
      const lonely = await start({ BATON_COORDINATOR_URL: '127.0.0.1:1', BATON_REGISTRY_URL: '127.0.0.1:1' });
      try {
        const response = await fetch(`http://127.0.0.1:${lonely.ports['http']}/v1/runs`);
        expect(response.status).toBe(503);
        expect(response.headers.get('retry-after')).toBe('1');
        expect(await response.text()).not.toContain('ECONNREFUSED');
        const ready = await fetch(`http://127.0.0.1:${lonely.adminPort}/readyz`);
        expect(ready.status).toBe(503);
        expect(await ready.text()).toContain('no connection to 127.0.0.1:1');
        expect((await fetch(`http://127.0.0.1:${lonely.adminPort}/livez`)).status).toBe(200);
      } finally {
        await lonely.stop();
      }
    });
  });

  describe('callers', () => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-keys-'));
    const file = join(folder, 'keys.json');
    const keys = { admin: 'bk_a1_secret-a', client: 'bk_c1_secret-c', worker: 'bk_w1_secret-w' } as const;
    let guarded: RunningService;

    beforeAll(async () => {
      const entries = Object.entries(keys).map(([role, key]) => ({
        id: key.split('_')[1],
        sha256: createHash('sha256').update(key).digest('hex'),
        namespace: 'shop',
        role,
      }));
      writeFileSync(file, JSON.stringify(entries));
      guarded = await start({ BATON_AUTH: 'api-key', BATON_API_KEYS_FILE: file, NODE_ENV: 'production' });
    });

    afterAll(async () => {
      await guarded.stop();
      rmSync(folder, { recursive: true });
    });

    const get = (path: string, authorization?: string) =>
      fetch(
        `http://127.0.0.1:${guarded.ports['http']}${path}`,
        authorization === undefined ? {} : { headers: { authorization } },
      );

    it.each([
      ['none', undefined, 401],
      ['another scheme', 'Basic abc', 401],
      ['an unknown key', 'Bearer bk_zz_secret', 401],
      ['a wrong secret', 'Bearer bk_c1_secret-x', 401],
      ['a worker', `Bearer ${keys.worker}`, 403],
      ['a client', `Bearer ${keys.client}`, 200],
      ['an admin', `bearer ${keys.admin}`, 200],
    ])('with %s', async (_what, authorization, status) => {
      upstreams.on('listRuns', () => ({ runs: [], nextCursor: '' }));
      const response = await get('/v1/runs', authorization);
      expect(response.status).toBe(status);
      if (status === 401) expect(response.headers.get('www-authenticate')).toContain('Bearer');
      if (status === 200) expect(upstreams.last('listRuns').authorization).toBe(authorization);
      else expect(upstreams.calls).toEqual([]);
    });

    it('shows the OpenAPI document to everybody, and nothing else', async () => {
      expect((await get('/openapi.json')).status).toBe(200);
      expect((await get('/v1/nothing')).status).toBe(401);
    });

    it('is not fooled by an absolute request target', async () => {
      const port = guarded.ports['http'] ?? 0;
      const status = await new Promise<number>((resolve, reject) => {
        const path = `http://127.0.0.1:${port}/v1/runs`;
        httpRequest({ host: '127.0.0.1', port, path }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
      expect(status).toBe(401);
    });
  });

  describe('the process', () => {
    it('gives every answer a request id, the caller`s own if it is one', async () => {
      expect((await send('GET', '/v1/nothing')).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      const own = await send('GET', '/v1/nothing', { headers: { 'x-request-id': 'my-id.1' } });
      expect(own.headers.get('x-request-id')).toBe('my-id.1');
      expect(own.body['requestId']).toBe('my-id.1');
      const bad = await send('GET', '/v1/nothing', { headers: { 'x-request-id': '<script>' } });
      expect(bad.headers.get('x-request-id')).not.toBe('<script>');
    });

    it('answers what is no HTTP, and lives', async () => {
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(gateway.ports['http'] ?? 0, '127.0.0.1', () => socket.end('NONSENSE\r\n\r\n'));
        let text = '';
        socket.on('data', (chunk) => (text += chunk.toString()));
        socket.on('close', () => resolve(text));
      });
      expect(answer).toContain('MALFORMED_REQUEST');
      expect((await fetch(`http://127.0.0.1:${gateway.adminPort}/livez`)).status).toBe(200);
    });

    it('labels its measurements by route, never by path (B123)', async () => {
      upstreams.on('getRun', () => ({ run: aRun(), tasks: [], bufferedSignals: [] }));
      await send('GET', `/v1/runs/${RUN_ID}`);
      for (let n = 0; n < 20; n += 1) await send('GET', `/v1/nothing/${n}`);
      const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
      expect(text).toContain('route="/v1/runs/{runId}"');
      expect(text).not.toContain(RUN_ID);
      expect(text).not.toContain('/v1/nothing');
    });

    it('answers what is in flight before it stops, and ends long polls with the run as it is (B122)', async () => {
      const stopping = await start({});
      const url = `http://127.0.0.1:${stopping.ports['http']}`;
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      upstreams.on('getRun', async () => {
        await held;
        return { run: aRun(), tasks: [], bufferedSignals: [] };
      });
      upstreams.on('getRunResult', (request: runV1.GetRunResultRequest) =>
        request.waitMs === 0n ? { run: aRun(), finished: false } : new Promise(() => undefined),
      );
      const gets = Array.from({ length: 20 }, () => fetch(`${url}/v1/runs/${RUN_ID}`));
      const poll = fetch(`${url}/v1/runs/${RUN_ID}/result?waitMs=60000`);
      await waitFor(() => upstreams.calls.length >= 21);
      const stopped = stopping.stop();
      const answer = await (await poll).json();
      expect(answer).toMatchObject({ finished: false, run: { status: 'RUNNING' } });
      release();
      for (const response of await Promise.all(gets)) expect(response.status).toBe(200);
      expect(await stopped).toBe(true);
      await expect(fetch(`${url}/v1/runs`)).rejects.toThrow();
    });
  });
});

async function waitFor(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
