import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { registryV1 } from '@baton/contracts';
import { startService, type RunningService } from '@baton/platform';
import { createDatabase, eventually, type TestDatabase } from '@baton/testkit';
import { type ApiError, fromGrpcError } from '@baton/wire';
import { credentials, Metadata } from '@grpc/grpc-js';
import { Client } from 'pg';
import { definitionRegistry } from './service.js';

type Method = Exclude<keyof registryV1.RegistryServiceClient, symbol>;

describe('the definition registry', () => {
  let database: TestDatabase;
  let service: RunningService;
  let client: registryV1.RegistryServiceClient;

  beforeAll(async () => {
    database = await createDatabase();
    service = await startService(definitionRegistry, {
      BATON_DATABASE_URL: database.url,
      BATON_GRPC_PORT: '0',
      BATON_ADMIN_PORT: '0',
      BATON_LOG_LEVEL: 'fatal',
    });
    client = new registryV1.RegistryServiceClient(`127.0.0.1:${service.ports['grpc']}`, credentials.createInsecure());
  });

  afterAll(async () => {
    client.close();
    expect(await service.stop()).toBe(true);
    await database.drop();
  });

  function call<Response>(method: Method, request: object): Promise<Response> {
    const unary = (client[method] as unknown as (...args: unknown[]) => void).bind(client);
    return new Promise((resolve, reject) => {
      unary(request, new Metadata(), (error: Error | null, response: Response) =>
        error === null ? resolve(response) : reject(fromGrpcError(error)),
      );
    });
  }

  const publish = (spec: string, noDeploy = false) =>
    call<registryV1.PublishDefinitionResponse>('publishDefinition', { spec, noDeploy });
  const get = (id: string, version = 0) => call<registryV1.GetDefinitionResponse>('getDefinition', { id, version });
  const list = (id = '', pageSize = 0, cursor = '') =>
    call<registryV1.ListDefinitionsResponse>('listDefinitions', { id, pageSize, cursor });

  async function refusal(promise: Promise<unknown>): Promise<ApiError> {
    return promise.then(
      () => {
        throw new Error('the call was not refused');
      },
      (error: ApiError) => error,
    );
  }

  const spec = (id: string, version: number, queue = 'q') =>
    JSON.stringify({ id, version, nodes: [{ id: 'a', type: 'task', queue }] });

  it('is ready on the current schema', async () => {
    // A machine under load may need longer for its first connection than a probe waits.
    await eventually(
      async () => {
        const response = await fetch(`http://127.0.0.1:${service.adminPort}/readyz`);
        expect(await response.json()).toMatchObject({
          status: 'ready',
          checks: [{ ok: true }, { name: 'database', ok: true }],
        });
        return true;
      },
      { what: 'readiness' },
    );
  });

  it('publishes, deploys and gives back the text byte for byte', async () => {
    const text =
      '{ "version":1, "id":"bytes",\n "nodes":[{"id":"a","type":"task","queue":"q","input":{"n":9007199254740993}}] }';
    const published = await publish(text);
    expect(published).toMatchObject({ created: true, definition: { id: 'bytes', version: 1, deployed: true } });
    expect((await get('bytes')).definition?.spec).toBe(text);
  });

  it('takes the same content again as a no-op, in any spelling, and does not roll a newer deployment back', async () => {
    await publish(spec('noop', 1));
    await publish(spec('noop', 2));
    const again = await publish(`\n${spec('noop', 1).replaceAll(',', ' , ')}`);
    expect(again).toMatchObject({ created: false, definition: { version: 1, deployed: false } });
    expect((await get('noop')).definition?.version).toBe(2);
  });

  it('refuses other content under a published version', async () => {
    await publish(spec('taken', 1));
    const error = await refusal(publish(spec('taken', 1, 'other')));
    expect(error).toMatchObject({ kind: 'conflict', code: 'DEFINITION_VERSION_EXISTS' });
  });

  it('lets exactly one of many concurrent publications create a version', async () => {
    const same = await Promise.all(Array.from({ length: 12 }, () => publish(spec('race', 1))));
    expect(same.filter((answer) => answer.created)).toHaveLength(1);
    const rivals = await Promise.allSettled(['x', 'y', 'z'].map((queue) => publish(spec('rivals', 1, queue))));
    expect(rivals.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('takes YAML and keeps the digits of its numbers (B70)', async () => {
    await publish(
      'id: yaml\nversion: 3\nnodes:\n  - { id: a, type: task, queue: q, input: { n: 3544790567247868102, f: 1.50 } }\n',
    );
    const stored = (await get('yaml', 3)).definition?.spec ?? '';
    expect(stored).toContain('"n":3544790567247868102');
    expect(stored).toContain('"f":1.50');
  });

  it('lists every error of a definition at once, with pointers and codes', async () => {
    const broken = JSON.stringify({
      id: 'broken',
      version: 1,
      input: { type: 'nonsense' },
      nodes: [
        { id: 'a', type: 'task', queue: 'q', after: ['missing'] },
        { id: 'a', type: 'task', queue: 'Bad Queue' },
      ],
    });
    const error = await refusal(publish(broken));
    expect(error).toMatchObject({ kind: 'invalid', code: 'DEFINITION_INVALID' });
    expect(error.details.length).toBeGreaterThanOrEqual(3);
    for (const detail of error.details) expect(detail.pointer).toMatch(/^\/nodes\//);
    const checked = await call<registryV1.ValidateDefinitionResponse>('validateDefinition', { spec: broken });
    expect(checked.valid).toBe(false);
    expect(checked.issues.filter(({ severity }) => severity === 'error')).toHaveLength(error.details.length);
  });

  it.each([
    ['with an unknown keyword', { type: 'object', requird: ['x'] }],
    ['whose answer is a promise', { $async: true, type: 'object' }],
  ])('refuses an input schema %s', async (_what, input) => {
    const bad = JSON.stringify({ ...JSON.parse(spec('schema', 1)), input });
    const error = await refusal(publish(bad));
    expect(error.details).toEqual([expect.objectContaining({ pointer: '/input', code: 'INPUT_SCHEMA_INVALID' })]);
  });

  it('B90: publishes text that only looks like an expression, and warns of it; what is not closed is refused', async () => {
    const withInput = (version: number, input: string) => {
      const nodes = [{ id: 'a', type: 'task', queue: 'q', input: { case: input } }];
      return JSON.stringify({ id: 'text', version, nodes });
    };
    const { created, issues } = await publish(withInput(1, '{input.finalCase}'));
    expect(created).toBe(true);
    expect(issues.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
      'LOOKS_LIKE_EXPRESSION /nodes/0/input/case',
    ]);
    expect((await refusal(publish(withInput(2, '${input.finalCase')))).details).toEqual([
      expect.objectContaining({ code: 'UNCLOSED_EXPRESSION', pointer: '/nodes/0/input/case' }),
    ]);
  });

  it('B126: never asks another server for a schema that a definition names, at publish or check', async () => {
    let asked = 0;
    const listener = createServer((socket) => {
      asked += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address() as AddressInfo;
    try {
      for (const url of [
        `http://127.0.0.1:${port}/s`,
        `http://2130706433:${port}/s`,
        `http://[::1]:${port}`,
        'file:///',
      ]) {
        for (const keyword of ['$ref', '$schema']) {
          const bad = JSON.stringify({ ...JSON.parse(spec('remote', 1)), input: { [keyword]: `${url}#/x` } });
          const error = await refusal(publish(bad));
          expect(error.details).toEqual([expect.objectContaining({ pointer: '/input', code: 'INPUT_SCHEMA_INVALID' })]);
        }
      }
    } finally {
      await new Promise((resolve) => listener.close(resolve));
    }
    expect(asked).toBe(0);
  });

  it.each([
    ['an empty text', ' '],
    ['broken JSON', '{"id":'],
    ['broken YAML', 'a: [1, 2'],
    ['two YAML documents', 'id: a\n---\nid: b\n'],
    ['a YAML scalar', 'hello'],
    [
      'YAML aliases that explode',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((k, i) => `${k}: &${k} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(',')}]`)
        .join('\n')}\n`,
    ],
    ['deep nesting', `{"id":"d","version":1,"nodes":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
    ['a NUL', '{"id":"n","version":1,"nodes":[],"output":"\\u0000"}'],
  ])('refuses %s and lives', async (_what, text) => {
    expect(await refusal(publish(text))).toMatchObject({ kind: 'invalid', code: 'DEFINITION_INVALID' });
  });

  it('lists latest and deployed versions page by page, and all versions of one id', async () => {
    for (const version of [1, 2, 3]) await publish(spec('paged', version), version !== 2);
    for (let n = 0; n < 5; n += 1) await publish(spec(`zz-${n}`, 1));
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await list('', 3, cursor);
      expect(page.definitions.length).toBeLessThanOrEqual(3);
      for (const { id, version, deployed, spec: text } of page.definitions) {
        seen.push(`${id}:${version}${deployed ? '*' : ''}`);
        expect(text).toBe('');
      }
      cursor = page.nextCursor;
    } while (cursor !== '');
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((entry) => entry.startsWith('paged:'))).toEqual(['paged:3', 'paged:2*']);
    expect((await list('paged')).definitions.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(await refusal(list('', 0, 'bm9uc2Vuc2U'))).toMatchObject({ code: 'CURSOR_INVALID' });
  });

  it('hides a deleted version, takes it out of service, and brings it back with the same content', async () => {
    await publish(spec('gone', 1));
    await call('deleteDefinition', { id: 'gone', version: 1 });
    expect(await refusal(get('gone', 1))).toMatchObject({ kind: 'not-found', code: 'DEFINITION_NOT_FOUND' });
    expect(await refusal(get('gone'))).toMatchObject({ kind: 'not-found' });
    expect(await refusal(call('deployDefinition', { id: 'gone', version: 1 }))).toMatchObject({ kind: 'not-found' });
    expect(await refusal(publish(spec('gone', 1, 'other')))).toMatchObject({ code: 'DEFINITION_VERSION_EXISTS' });
    expect(await publish(spec('gone', 1))).toMatchObject({ created: true, definition: { deployed: true } });
  });

  it('deploys an older version', async () => {
    await publish(spec('back', 1));
    await publish(spec('back', 2));
    await call('deployDefinition', { id: 'back', version: 1 });
    expect((await get('back')).definition?.version).toBe(1);
  });

  it.each([
    ['an id with a dot', 'getDefinition', { id: 'a.b', version: 1 }],
    ['a negative version', 'getDefinition', { id: 'a', version: -1 }],
    ['no version to deploy', 'deployDefinition', { id: 'a', version: 0 }],
    ['a page that is too large', 'listDefinitions', { id: '', pageSize: 101, cursor: '' }],
  ] as const)('refuses %s', async (_what, method, request) => {
    expect(await refusal(call(method, request))).toMatchObject({ kind: 'invalid', code: 'INVALID_ARGUMENT' });
  });

  it('publishes 10,000 nodes (B14)', async () => {
    const nodes = Array.from({ length: 10_000 }, (_value, n) => ({
      id: `n${n}`,
      type: 'task',
      queue: 'q',
      after: n === 0 ? [] : [`n${n - 1}`],
    }));
    expect(await publish(JSON.stringify({ id: 'large', version: 1, nodes }))).toMatchObject({ created: true });
  });

  it('loses at most one answer when its connections are cut, and none of what it answered (B116)', async () => {
    await publish(spec('cut', 1));
    const admin = new Client({ connectionString: database.url });
    await admin.connect();
    try {
      for (let round = 2; round < 6; round += 1) {
        await admin.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'baton definition-registry'`,
        );
        const answers = await Promise.allSettled(Array.from({ length: 8 }, () => publish(spec('cut', round))));
        for (const answer of answers) {
          if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ kind: 'unavailable' });
        }
        await eventually(
          () =>
            publish(spec('cut', round)).then(
              () => true,
              () => false,
            ),
          { what: 'a good connection' },
        );
      }
    } finally {
      await admin.end();
    }
    expect((await list('cut')).definitions.map(({ version }) => version)).toEqual([5, 4, 3, 2, 1]);
  });

  it('publishes the example of the repository', async () => {
    const file = `${__dirname}/../../../examples/order-fulfilment/definition.json`;
    expect((await publish(readFileSync(file, 'utf8'))).definition).toMatchObject({ id: 'order-fulfilment' });
  });
});

describe('the definition registry with API keys', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-registry-'));
  const file = join(folder, 'keys.json');
  const keys = { shop: 'bk_shop_1', bank: 'bk_bank_1', worker: 'bk_worker_1' };
  let database: TestDatabase;
  let service: RunningService;
  let client: registryV1.RegistryServiceClient;

  beforeAll(async () => {
    const entries = Object.entries(keys).map(([id, key]) => ({
      id,
      sha256: createHash('sha256').update(key).digest('hex'),
      namespace: id === 'worker' ? 'shop' : id,
      role: id === 'worker' ? 'worker' : 'client',
    }));
    writeFileSync(file, JSON.stringify(entries));
    database = await createDatabase();
    service = await startService(definitionRegistry, {
      BATON_DATABASE_URL: database.url,
      BATON_GRPC_PORT: '0',
      BATON_ADMIN_PORT: '0',
      BATON_LOG_LEVEL: 'silent',
      BATON_AUTH: 'api-key',
      BATON_API_KEYS_FILE: file,
      NODE_ENV: 'production',
    });
    client = new registryV1.RegistryServiceClient(`127.0.0.1:${service.ports['grpc']}`, credentials.createInsecure());
  });

  afterAll(async () => {
    client.close();
    await service.stop();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  function publishAs(key: string | undefined): Promise<registryV1.PublishDefinitionResponse> {
    const metadata = new Metadata();
    if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
    const spec = JSON.stringify({ id: 'mine', version: 1, nodes: [{ id: 'a', type: 'task', queue: 'q' }] });
    return new Promise((resolve, reject) => {
      client.publishDefinition({ spec, noDeploy: false }, metadata, (error, response) =>
        error === null ? resolve(response) : reject(fromGrpcError(error)),
      );
    });
  }

  it('takes the namespace from the key (R28)', async () => {
    expect(await publishAs(keys.shop)).toMatchObject({ created: true, definition: { namespace: 'shop' } });
    expect(await publishAs(keys.bank)).toMatchObject({ created: true, definition: { namespace: 'bank' } });
    expect(await publishAs(keys.shop)).toMatchObject({ created: false });
  });

  it.each([
    [undefined, 'unauthenticated', 'UNAUTHENTICATED'],
    ['bk_shop_2', 'unauthenticated', 'UNAUTHENTICATED'],
    [keys.worker, 'forbidden', 'FORBIDDEN'],
  ])('refuses the key %s', async (key, kind, code) => {
    await expect(publishAs(key)).rejects.toMatchObject({ kind, code });
  });
});

describe('the definition registry without a database', () => {
  it('starts, says why it is not ready, and answers UNAVAILABLE', async () => {
    const service = await startService(definitionRegistry, {
      BATON_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      BATON_GRPC_PORT: '0',
      BATON_ADMIN_PORT: '0',
      BATON_LOG_LEVEL: 'silent',
    });
    const address = `127.0.0.1:${service.ports['grpc']}`;
    const client = new registryV1.RegistryServiceClient(address, credentials.createInsecure());
    try {
      const ready = await fetch(`http://127.0.0.1:${service.adminPort}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.text()).toContain('ECONNREFUSED');
      const refused = new Promise((resolve, reject) => {
        client.getDefinition({ id: 'a', version: 1 }, (error, response) =>
          error === null ? resolve(response) : reject(fromGrpcError(error)),
        );
      });
      await expect(refused).rejects.toMatchObject({ kind: 'unavailable', code: 'DATABASE_UNAVAILABLE' });
    } finally {
      client.close();
      await service.stop();
    }
  });

  it('is not ready on a database without its schema', async () => {
    const database = await createDatabase({ migrated: false });
    const service = await startService(definitionRegistry, {
      BATON_DATABASE_URL: database.url,
      BATON_GRPC_PORT: '0',
      BATON_ADMIN_PORT: '0',
      BATON_LOG_LEVEL: 'silent',
    });
    try {
      const ready = await fetch(`http://127.0.0.1:${service.adminPort}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.text()).toContain('baton migrate up');
    } finally {
      await service.stop();
      await database.drop();
    }
  });
});
