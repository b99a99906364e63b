import { runV1 } from '@baton/contracts';
import { eventually, Platform } from '@baton/testkit';
import { createWorker, rawJson, silentLogger, type TaskHandler, type Worker } from '@baton/worker';
import { Clients } from '../src/clients.js';
import { Rest } from '../src/rest.js';

const { RunStatus } = runV1;
const MIB = 1_048_576;
const json = { 'content-type': 'application/json' };

const echoes = {
  id: 'echoes',
  version: 1,
  nodes: [
    { id: 'first', type: 'task', queue: 'echo', task: 'echo', input: '${input}' },
    { id: 'second', type: 'task', queue: 'echo', task: 'echo', input: '${nodes.first.output}', after: ['first'] },
    { id: 'approval', type: 'wait', signal: 'go', after: ['second'] },
  ],
  output: { task: '${nodes.second.output}', signal: '${nodes.approval.output}' },
};
const sizes = {
  id: 'sizes',
  version: 1,
  nodes: [
    { id: 'echo', type: 'task', queue: 'echo', input: '${input}', retry: { maxAttempts: 1 } },
    {
      id: 'twice',
      type: 'task',
      queue: 'echo',
      task: 'length',
      after: ['echo'],
      input: ['${input}', '${nodes.echo.output}'],
    },
  ],
};
const grows = {
  id: 'grows',
  version: 1,
  nodes: [{ id: 'grow', type: 'task', queue: 'echo', input: '${input}', retry: { maxAttempts: 1 } }],
};
const saga = {
  id: 'late',
  version: 1,
  nodes: [
    { id: 'pay', type: 'task', queue: 'slow', task: 'pay', input: '${input}', compensate: { task: 'undo' } },
    { id: 'gate', type: 'wait', signal: 'never' },
  ],
};
const failing = (version: number, last: string) => ({
  id: 'versions',
  version,
  nodes: [
    { id: 'a', type: 'task', queue: 'echo', task: 'echo' },
    { id: last, type: 'task', queue: 'echo', task: 'fail', after: ['a'], retry: { maxAttempts: 1 } },
  ],
});

/** Through REST, gRPC, PostgreSQL, the relay, Kafka, a worker, and back. */
describe('payloads on all hops', () => {
  let platform: Platform;
  let rest: Rest;
  let clients: Clients;
  const workers: Worker[] = [];
  const paid: unknown[] = [];

  const handlers: Readonly<Record<string, TaskHandler>> = {
    echo: (task) => rawJson(task.inputText),
    length: (task) => task.inputText.length,
    grow: (task) => 'x'.repeat(task.input<number>()),
    fail: () => {
      throw new Error('no');
    },
    pay: (task) => void paid.push(task.input()),
    undo: (task) => void paid.push(['undo', task.input()]),
  };

  async function serve(queue: string): Promise<void> {
    const worker = createWorker({
      brokers: platform.kafka.brokers.split(','),
      coordinators: platform.coordinatorUrls,
      queues: [queue],
      handlers,
      logger: silentLogger,
    });
    workers.push(worker);
    await worker.start();
  }

  beforeAll(async () => {
    platform = await Platform.start({ workers: 0 });
    rest = new Rest(platform.gatewayUrl);
    clients = new Clients(platform.coordinatorUrls[0] as string, platform.registryUrl);
    for (const definition of [echoes, sizes, grows, saga, failing(1, 'b')]) {
      expect((await rest.post('/v1/definitions', definition)).status).toBe(201);
    }
    await serve('echo');
  }, 240_000);

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop(2_000)));
    clients?.close();
    await platform?.stop();
  }, 60_000);

  const startRaw = (definitionId: string, input: string) =>
    rest.send('POST', '/v1/runs', `{"definitionId":"${definitionId}","input":${input}}`, json);

  async function started(definitionId: string, input: string): Promise<string> {
    const answer = await startRaw(definitionId, input);
    expect({ status: answer.status, text: answer.text.slice(0, 300) }).toMatchObject({ status: 201 });
    return answer.body.runId as string;
  }

  async function details(runId: string): Promise<runV1.GetRunResponse> {
    await rest.outcome(runId);
    return clients.get(runId);
  }

  it.each([
    ['B69', '[1,2,3]'],
    ['B69', '[]'],
    ['B69', '["a"]'],
    ['B69', '"str"'],
    ['B69', 'null'],
    ['B69', '5'],
    ['B69', 'true'],
    ['B70', '{"foo":3544790567247868102,"d":321588685835436831,"n":9007199254740993,"neg":-9007199254740993,"e":1.10}'],
    ['B74', '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}},"hasOwnProperty":1}'],
    ['B67', '{"b":"literal \\\\u0000 text"}'],
    ['B19', '[{"msg":"${secrets.db}"},{"msg":"${run.id}"}]'],
  ])(
    'B19, B67, B69, B70, B74: stay byte for byte as input, in templates, as output and as signal: %s %s',
    async (_case, text) => {
      const runId = await started('echoes', text);
      const signal = await rest.send('POST', `/v1/runs/${runId}/signals/go`, `{"payload":${text}}`, json);
      expect(signal.status).toBe(200);
      const { run, tasks, input, output } = await details(runId);
      expect([run?.status, input, output]).toEqual([
        RunStatus.RUN_STATUS_SUCCEEDED,
        text,
        `{"task":${text},"signal":${text}}`,
      ]);
      const of = (nodeId: string) => tasks.find((task) => task.nodeId === nodeId);
      for (const nodeId of ['first', 'second']) expect([of(nodeId)?.input, of(nodeId)?.output]).toEqual([text, text]);
      const shown = (await rest.get(`/v1/runs/${runId}?payloads=true`)).text;
      expect(shown.split(`"input":${text}`).length - 1).toBe(3);
      expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
    },
  );

  it.each([90_000, 110_000, 500_000])('B73: %d bytes pass every hop, also twice in one input', async (bytes) => {
    const runId = await started('sizes', JSON.stringify('x'.repeat(bytes - 2)));
    const { run, tasks } = await details(runId);
    expect(run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
    expect(tasks.find((task) => task.nodeId === 'twice')?.output).toBe(String(2 * bytes + 3));
  });

  it('B73: the largest payload passes every hop as input and as output; what a template makes of two is refused', async () => {
    const runId = await started('sizes', JSON.stringify('x'.repeat(MIB - 2)));
    const { run, tasks } = await details(runId);
    const echo = tasks.find((task) => task.nodeId === 'echo');
    expect([echo?.status, echo?.output?.length]).toEqual([runV1.TaskStatus.TASK_STATUS_SUCCEEDED, MIB]);
    expect(run).toMatchObject({
      status: RunStatus.RUN_STATUS_FAILED,
      failure: { code: 'INPUT_UNRESOLVED', nodeId: 'twice', message: expect.stringMatching(/1048576|1 MiB/) },
    });
  });

  it.each([MIB + 1, 3 * MIB, 5 * MIB])('B73: an input of %d bytes is 413 and names the limit', async (bytes) => {
    const answer = await startRaw('sizes', JSON.stringify('x'.repeat(bytes - 2)));
    expect([answer.status, answer.body.code]).toEqual([413, bytes < 5 * MIB ? 'PAYLOAD_TOO_LARGE' : 'BODY_TOO_LARGE']);
    expect(answer.body.detail).toMatch(/\d{7}|\d MiB/);
  });

  it('B73: an output that is too large fails its step with a code that says so, and the worker lives', async () => {
    const { run } = await details(await started('grows', String(3 * MIB)));
    expect(run).toMatchObject({ status: RunStatus.RUN_STATUS_FAILED, failure: { code: 'PAYLOAD_TOO_LARGE' } });
    const small = await details(await started('grows', '10'));
    expect(small.tasks[0]?.output).toBe('"xxxxxxxxxx"');
  });

  it('B73: a list of runs of 1 MiB each is a small answer: lists leave payloads out', async () => {
    const input = JSON.stringify('y'.repeat(MIB - 2));
    for (let n = 0; n < 12; n += 1) await started('echoes', input);
    const page = await rest.get('/v1/runs?definitionId=echoes&pageSize=100');
    expect(page.status).toBe(200);
    expect(page.body.runs.length).toBeGreaterThanOrEqual(12);
    expect(page.text.length).toBeLessThan(100_000);
  });

  it('B39, B26: a message that is read after its run was cancelled starts no handler, and nothing is undone', async () => {
    const cancelled = await started('late', '"cancelled"');
    expect((await rest.post(`/v1/runs/${cancelled}:cancel`, {})).body.status).toBe('CANCELLED');
    const other = await started('late', '"other"');
    await serve('slow');
    await eventually(() => paid.includes('other'), { what: 'the message behind it is handled' });
    // Both were in the topic before there was a worker; whichever partition they lie on, both are acquired by now.
    await eventually(
      async () => {
        const { rows } = await platform.sql((client) =>
          client.query(`SELECT 1 FROM baton.task_instances WHERE run_id = $1 AND status = 'SUCCEEDED'`, [other]),
        );
        return rows.length === 1 && workers.at(-1)?.health().acquiring === 0;
      },
      { what: 'nothing is left to ask for' },
    );
    expect(paid).toEqual(['other']);
    const view = await clients.get(cancelled);
    expect(view.tasks.filter((task) => task.kind === 'compensate')).toEqual([]);
  });

  it('B83, B85: a retry stays on the version of the run, refuses one that lacks its nodes, and is none after success', async () => {
    const runId = await started('versions', 'null');
    expect(await rest.outcome(runId)).toBe('FAILED');
    expect((await rest.post('/v1/definitions', failing(2, 'c'))).status).toBe(201);
    const onTwo = await rest.post(`/v1/runs/${runId}:retry`, { definitionVersion: 2 });
    expect([onTwo.status, onTwo.body.code]).toEqual([409, 'NODE_NOT_IN_VERSION']);
    const unknown = await rest.post(`/v1/runs/${runId}:retry`, { fromNodeId: 'c' });
    expect([unknown.status, unknown.body.code]).toEqual([400, 'NODE_NOT_FOUND']);
    const pinned = await rest.post(`/v1/runs/${runId}:retry`, {});
    expect([pinned.status, pinned.body.epoch]).toEqual([200, 2]);
    expect(await rest.outcome(runId)).toBe('FAILED');
    expect((await rest.get(`/v1/runs/${runId}`)).body.run).toMatchObject({ definitionVersion: 1, epoch: 2 });
    const done = await started('grows', '1');
    expect(await rest.outcome(done)).toBe('SUCCEEDED');
    const again = await rest.post(`/v1/runs/${done}:retry`, {});
    expect([again.status, again.body.code]).toEqual([409, 'NOT_RETRYABLE']);
  });

  it('B122: what stops under load answers what it has taken: no 5xx but "shutting down", no start lost, exit code 0', async () => {
    const answers: { status: number; code?: string; runId?: string }[] = [];
    let isOver = false;
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      for (let n = 0; !isOver; n += 1) {
        const body = { definitionId: 'grows', input: 3, idempotencyKey: `stop-${caller}-${n}` };
        const answer = await rest.post('/v1/runs', body).catch(() => undefined);
        // The port is closed once it has stopped.
        if (answer === undefined) return;
        answers.push({ status: answer.status, code: answer.body?.code, runId: answer.body?.runId });
      }
    });
    await eventually(() => answers.length > 60, { what: 'load' });
    const codes = [await platform.service('gateway').stop()];
    isOver = true;
    await Promise.all(callers);
    for (const name of ['coordinator-1', 'relay-1', 'timer-1', 'registry'])
      codes.push(await platform.service(name).stop());
    expect(codes).toEqual([0, 0, 0, 0, 0]);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.filter(({ status, code }) => status !== 503 || code !== 'SHUTTING_DOWN')).toEqual([]);
    for (const service of platform.services.values()) service.start();
    await Promise.all([...platform.services.values()].map((service) => service.ready(60_000)));
    for (const { runId } of answers.filter(({ status }) => status === 201)) {
      expect(await rest.outcome(runId as string)).toBe('SUCCEEDED');
    }
  });
});
