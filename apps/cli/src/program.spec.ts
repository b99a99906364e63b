import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './program.js';
import { RecordingScreen, StubGateway } from './testing/stub-gateway.js';

const runId = '0190a000-0000-7000-8000-000000000001';
const run = (status: string): string =>
  JSON.stringify({
    runId,
    definitionId: 'order',
    definitionVersion: 1,
    status,
    cause: null,
    compensation: 'NONE',
    epoch: 1,
    failure: null,
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:00:02.000Z',
    businessKey: null,
    stuckReason: null,
  });
// What JSON.parse would change: digits, spaces, the order of keys that look like numbers.
const payload = '{"b": 12345678901234567890, "2": 1.10, "1":[]}';

let gateway: StubGateway;
let screen: RecordingScreen;
let folder: string;

beforeAll(async () => {
  gateway = await StubGateway.start();
  folder = mkdtempSync(join(tmpdir(), 'baton-cli-'));
  // A platform that is up on this machine is none of these tests' business.
  process.env['BATON_HOME'] = folder;
});

afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  screen = new RecordingScreen();
  gateway.seen.length = 0;
});

const baton = (...args: string[]): Promise<number> => runProgram(args, screen);
const against = (...args: string[]): Promise<number> => baton(...args, '--url', gateway.url);

describe('exit codes', () => {
  it('are 0 for help, 2 for anything that was not understood', async () => {
    expect(await baton('--help')).toBe(0);
    expect(screen.printed).toContain('migrate');
    expect(await baton('run', 'start', '--help')).toBe(0);
    expect(await baton('dance')).toBe(2);
    expect(await baton('run', 'list', '--colour')).toBe(2);
    expect(await baton('run', 'show')).toBe(2);
    expect(await baton('run', 'list', '-o', 'xml')).toBe(2);
    expect(await baton('run', 'list', '--status', 'DONE')).toBe(2);
    expect(await baton('run', 'start', 'order', '--version', '0')).toBe(2);
    expect(await baton('run', 'start', 'order', '--wait', '--timeout', 'soon')).toBe(2);
    expect(await baton('run', 'list', '--url', 'ftp://x')).toBe(2);
    expect(await baton('bench', '../../etc')).toBe(2);
  });

  it('are 3 when nobody answers', async () => {
    expect(await baton('run', 'list', '--url', 'http://127.0.0.1:9')).toBe(3);
    expect(screen.complained).toContain('is the platform up?');
    expect(await baton('migrate', 'status', '--database-url', 'postgres://127.0.0.1:9/x')).toBe(3);
  });

  it('are 3 when the gateway answers, but not what stands behind it', async () => {
    gateway.answer({ status: 503, body: '{"code":"UNAVAILABLE","detail":"no coordinator"}' });
    expect(await against('run', 'list')).toBe(3);
    gateway.answer({ status: 502, body: '<html>bad gateway</html>' });
    expect(await against('run', 'list')).toBe(3);
  });

  it('are 1 when the thing asked for is refused, with every reason', async () => {
    gateway.answer({
      status: 400,
      body: JSON.stringify({
        code: 'INVALID_ARGUMENT',
        detail: 'two mistakes',
        errors: [
          { pointer: '/runId', code: 'BAD_FORMAT', message: 'must be a UUID' },
          { pointer: '', code: 'X', message: 'no' },
        ],
      }),
    });
    expect(await against('run', 'start', 'order')).toBe(1);
    expect(screen.complained).toBe(
      'baton: INVALID_ARGUMENT: two mistakes\n  /runId: must be a UUID (BAD_FORMAT)\n  /: no (X)\n',
    );
  });

  it('are 1 when something that is no gateway answers', async () => {
    gateway.answer({ body: '<html>' }, { status: 404, body: 'not found' });
    expect(await against('run', 'list')).toBe(1);
    expect(await against('run', 'list')).toBe(1);
    expect(screen.complained).toContain('is it a Baton gateway?');
  });
});

describe('run start', () => {
  it('passes the input on byte for byte, and every option by its name', async () => {
    gateway.answer({ status: 201, body: `{"runId":"${runId}","created":true,"status":"RUNNING"}` });
    const options = ['--input', payload, '--key', 'k', '--business-key', 'b', '--id', runId];
    expect(await against('run', 'start', 'order', ...options, '--version', '2', '--from', 'charge')).toBe(0);
    expect(gateway.seen[0]).toMatchObject({ method: 'POST', path: '/v1/runs' });
    expect(gateway.seen[0]?.body).toBe(
      `{"definitionId":"order","definitionVersion":2,"input":${payload},"idempotencyKey":"k","businessKey":"b",` +
        `"runId":"${runId}","startNodeId":"charge"}`,
    );
    expect(screen.printed).toBe(`run ${runId} started: RUNNING\n`);
  });

  it('reads the input from a file', async () => {
    const file = join(folder, 'input.json');
    writeFileSync(file, payload);
    gateway.answer({ body: `{"runId":"${runId}","created":false,"status":"SUCCEEDED"}` });
    expect(await against('run', 'start', 'order', '--input', `@${file}`)).toBe(0);
    expect(gateway.seen[0]?.body).toBe(`{"definitionId":"order","input":${payload}}`);
    expect(screen.printed).toContain('had been started before');
  });

  it('refuses an input that is not JSON, or a file that is not there, before it asks anybody', async () => {
    expect(await against('run', 'start', 'order', '--input', '{"a":')).toBe(2);
    expect(await against('run', 'start', 'order', '--input', `@${join(folder, 'none')}`)).toBe(2);
    expect(await against('run', 'start', 'order', '--timeout', '1s')).toBe(2);
    expect(gateway.seen).toEqual([]);
  });

  it('waits for the end, and prints the output as it is', async () => {
    gateway.answer(
      { status: 201, body: `{"runId":"${runId}","created":true,"status":"RUNNING"}` },
      { body: `{"run":${run('RUNNING')},"finished":false}` },
      { body: `{"run":${run('SUCCEEDED')},"finished":true,"output":${payload}}` },
    );
    expect(await against('run', 'start', 'order', '--wait', '-o', 'json')).toBe(0);
    expect(screen.printed).toBe(`{"run":${run('SUCCEEDED')},"finished":true,"output":${payload}}\n`);
    expect(gateway.seen[1]?.path).toBe(`/v1/runs/${runId}/result?waitMs=20000`);
  });

  it.each(['FAILED', 'COMPENSATED', 'CANCELLED', 'EXPIRED', 'COMPENSATION_FAILED'])(
    'fails when it waited and the run ended %s',
    async (status) => {
      gateway.answer(
        { status: 201, body: `{"runId":"${runId}","created":true,"status":"RUNNING"}` },
        { body: `{"run":${run(status)},"finished":true}` },
      );
      expect(await against('run', 'start', 'order', '--wait')).toBe(1);
      expect(screen.complained).toContain(`run ${runId} ended ${status}`);
    },
  );

  it('fails when the run goes on after the time that it was given', async () => {
    gateway.answer(
      { status: 201, body: `{"runId":"${runId}","created":true,"status":"RUNNING"}` },
      { body: `{"run":${run('RUNNING')},"finished":false}` },
      { body: `{"run":${run('RUNNING')},"finished":false}` },
    );
    expect(await against('run', 'start', 'order', '--wait', '--timeout', '0ms')).toBe(1);
    expect(screen.complained).toContain('is still RUNNING');
  });

  it('goes on waiting when the gateway is away for a moment', async () => {
    gateway.answer(
      { status: 201, body: `{"runId":"${runId}","created":true,"status":"RUNNING"}` },
      { status: 503, body: '{"code":"UNAVAILABLE"}' },
      { body: `{"run":${run('SUCCEEDED')},"finished":true}` },
    );
    expect(await against('run', 'start', 'order', '--wait')).toBe(0);
  });
});

describe('run commands', () => {
  it('send what they were given', async () => {
    gateway.answer(
      { body: '{"status":"COMPENSATING","duplicate":false}' },
      { body: '{"epoch":2,"status":"RUNNING","duplicate":true}' },
      { body: '{"epoch":3,"status":"COMPENSATING","duplicate":false}' },
      { body: '{"delivered":true,"duplicate":false,"signalId":"s1"}' },
    );
    expect(await against('run', 'cancel', runId, '--reason', 'no need', '--request-id', 'r')).toBe(0);
    expect(await against('run', 'retry', runId, '--from', 'ship', '--version', 'deployed', '--input', payload)).toBe(0);
    expect(await against('run', 'retry-compensation', runId)).toBe(0);
    expect(
      await against('run', 'signal', runId, 'paid/late', '--payload', payload, '--expires-in', '5m', '--id', 's1'),
    ).toBe(0);
    expect(gateway.seen.map(({ path, body }) => [path, body])).toEqual([
      [`/v1/runs/${runId}/cancel`, '{"reason":"no need","requestId":"r"}'],
      [`/v1/runs/${runId}/retry`, `{"fromNodeId":"ship","definitionVersion":"deployed","input":${payload}}`],
      [`/v1/runs/${runId}/retry-compensation`, '{}'],
      [`/v1/runs/${runId}/signals/paid%2Flate`, `{"payload":${payload},"signalId":"s1","expiresInMs":300000}`],
    ]);
    expect(screen.printed).toBe(
      `run ${runId}: COMPENSATING\nrun ${runId}: RUNNING, epoch 2 (asked for before)\n` +
        `run ${runId}: COMPENSATING, epoch 3\nsignal s1: taken by a wait\n`,
    );
  });

  it('list page by page up to the limit', async () => {
    gateway.answer(
      { body: `{"runs":[${run('FAILED')}],"nextCursor":"c1"}` },
      { body: `{"runs":[${run('FAILED')}],"nextCursor":"c2"}` },
    );
    const filters = ['--status', 'FAILED', 'EXPIRED', '--definition', 'order', '--limit', '2'];
    expect(await against('run', 'list', ...filters, '-o', 'json')).toBe(0);
    expect(gateway.seen.map(({ path }) => path)).toEqual([
      '/v1/runs?status=FAILED&status=EXPIRED&definitionId=order&pageSize=2',
      '/v1/runs?status=FAILED&status=EXPIRED&definitionId=order&pageSize=1&cursor=c1',
    ]);
    expect(JSON.parse(screen.printed)).toMatchObject({ nextCursor: 'c2' });
  });

  it('show payloads as they are', async () => {
    gateway.answer({ body: `{"run":${run('RUNNING')},"tasks":[],"bufferedSignals":[],"input":${payload}}` });
    expect(await against('run', 'show', runId, '--payloads')).toBe(0);
    expect(gateway.seen[0]?.path).toBe(`/v1/runs/${runId}?payloads=true`);
    expect(screen.printed).toContain(payload);
  });

  it('B125: print keys, signals and error texts of others as text that commands no terminal', async () => {
    const evil = '\u001b]0;owned\u0007\r\u009b2J';
    const bad = { ...JSON.parse(run('FAILED')), businessKey: evil, failure: { code: 'X', message: evil, nodeId: 'a' } };
    const bufferedSignals = [{ signalId: evil, name: evil, receivedAt: '2026-01-01T00:00:00.000Z' }];
    const entries = [
      { seq: 1, at: '', kind: 'x', nodeId: null, taskKind: null, attempt: null, code: 'X', detail: evil },
    ];
    gateway.answer(
      { body: JSON.stringify({ run: bad, tasks: [], bufferedSignals }) },
      { body: JSON.stringify({ runs: [bad] }) },
      { body: JSON.stringify({ entries }) },
      { status: 400, body: JSON.stringify({ code: 'X', detail: evil, errors: [] }) },
    );
    for (const what of [['show', runId], ['list'], ['history', runId], ['show', runId]]) await against('run', ...what);
    const printed = screen.printed + screen.complained;
    expect(printed).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/);
    expect(printed.match(/\\u001b\]0;owned/g)?.length).toBeGreaterThanOrEqual(6);
  });

  it('trace a run to its end as a tree of the definition', async () => {
    gateway.answer(
      { body: `{"run":${run('SUCCEEDED')},"tasks":[],"bufferedSignals":[]}` },
      { body: '{"entries":[],"nextAfterSeq":5}' },
      { body: '{"entries":[]}' },
      { body: '{"spec":{"nodes":[{"id":"a","type":"task"},{"id":"b","type":"wait","after":["a"]}]}}' },
    );
    expect(await against('run', 'trace', runId)).toBe(0);
    expect(screen.printed).toBe(`order v1  ${runId}  SUCCEEDED  2.0 s\n├─ · a\n└─ · b\n`);
  });

  it('carry the API key', async () => {
    process.env['BATON_API_KEY'] = 'bk_a_b';
    gateway.answer({ body: '{"runs":[]}' });
    await against('run', 'list');
    delete process.env['BATON_API_KEY'];
    expect(gateway.seen[0]?.headers['authorization']).toBe('Bearer bk_a_b');
  });
});

describe('def', () => {
  const definition = '{"id":"order","version":1,"contentHash":"abc","deployed":true,"createdAt":"now"}';

  it('publishes JSON and YAML as they are', async () => {
    const file = join(folder, 'order.yaml');
    writeFileSync(file, 'id: order\nversion: 1\n');
    gateway.answer({ status: 201, body: `{"definition":${definition},"created":true,"issues":[]}` });
    expect(await against('def', 'publish', file, '--no-deploy')).toBe(0);
    expect(gateway.seen[0]).toMatchObject({ path: '/v1/definitions?deploy=false', body: 'id: order\nversion: 1\n' });
    expect(gateway.seen[0]?.headers['content-type']).toBe('application/yaml');
    expect(screen.printed).toBe('order version 1 published, deployed\n');
  });

  it('fails on a definition that is not valid, and lists what is wrong', async () => {
    const file = join(folder, 'order.json');
    writeFileSync(file, ' {"id":"order"}');
    const issue = { severity: 'error', code: 'MISSING', message: 'must have nodes', pointer: '/nodes' };
    gateway.answer({ body: JSON.stringify({ valid: false, issues: [issue] }) });
    expect(await against('def', 'validate', file)).toBe(1);
    expect(gateway.seen[0]?.headers['content-type']).toBe('application/json');
    expect(screen.printed).toBe('not valid\n  error /nodes: must have nodes (MISSING)\n');
  });

  it('lists and shows', async () => {
    gateway.answer(
      { body: `{"definitions":[${definition}],"nextCursor":"c"}` },
      { body: `{"definitions":[]}` },
      { body: `${definition.slice(0, -1)},"spec":${payload}}` },
    );
    expect(await against('def', 'list')).toBe(0);
    expect(await against('def', 'list', 'order', '--limit', '5', '--cursor', 'c')).toBe(0);
    expect(await against('def', 'show', 'order', '--version', '1')).toBe(0);
    expect(gateway.seen.map(({ path }) => path)).toEqual([
      '/v1/definitions?pageSize=50',
      '/v1/definitions/order/versions?pageSize=5&cursor=c',
      '/v1/definitions/order/versions/1',
    ]);
    expect(screen.printed).toContain(payload);
  });
});

describe('settings', () => {
  it('come from a file where the _FILE twin names one', async () => {
    const file = join(folder, 'url');
    writeFileSync(file, `${gateway.url}\n`);
    process.env['BATON_URL_FILE'] = file;
    gateway.answer({ body: '{"runs":[]}' });
    const code = await baton('run', 'list');
    delete process.env['BATON_URL_FILE'];
    expect(code).toBe(0);
  });

  it('ask for a database where none is named', async () => {
    delete process.env['BATON_DATABASE_URL'];
    expect(await baton('migrate', 'up')).toBe(2);
    expect(await baton('migrate', 'up', '--database-url', 'mysql://x')).toBe(2);
  });
});
