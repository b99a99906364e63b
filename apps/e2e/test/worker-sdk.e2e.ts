import { runV1 } from '@baton/contracts';
import { eventually, Platform } from '@baton/testkit';
import {
  createWorker,
  rawJson,
  retryLater,
  silentLogger,
  type TaskContext,
  type TaskHandler,
  type Worker,
} from '@baton/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import { Clients } from '../src/index.js';

const { RunStatus } = runV1;

function definition(id: string, fields: object = {}): string {
  const node = { id: 'step', type: 'task', queue: id, task: 'step', input: '${input}', ...fields };
  return JSON.stringify({ id, version: 1, nodes: [node], output: '${nodes.step.output}' });
}

/** What the SDK promises to handlers, with real coordinators, relay and Kafka in between. */
describe('a worker of the SDK against a running platform', () => {
  let platform: Platform;
  let clients: Clients;
  const workers: Worker[] = [];

  beforeAll(async () => {
    platform = await Platform.start({ workers: 0, gateway: false, coordinators: 2 });
    clients = new Clients(platform.coordinatorUrls[0] as string, platform.registryUrl);
  }, 240_000);

  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop(2_000)));
  });

  afterAll(async () => {
    clients?.close();
    await platform?.stop();
  }, 60_000);

  async function serve(queue: string, handlers: Readonly<Record<string, TaskHandler>>): Promise<Worker> {
    const worker = createWorker({
      brokers: platform.kafka.brokers.split(','),
      coordinators: platform.coordinatorUrls,
      queues: [queue],
      handlers,
      logger: silentLogger,
    });
    workers.push(worker);
    await worker.start();
    return worker;
  }

  async function run(id: string, input: string): Promise<string> {
    return (await clients.start({ definitionId: id, input })).runId;
  }

  async function ended(runId: string): Promise<runV1.GetRunResponse> {
    await eventually(async () => (await clients.result(runId, 10_000)).finished, {
      timeoutMs: 60_000,
      what: 'the end',
    });
    return clients.get(runId);
  }

  const kinds = async (runId: string) => (await clients.history(runId)).entries.map((entry) => entry.kind);

  it.each([
    ['small', 10],
    ['too large for the message', 100_000],
  ])('an input and an output pass byte for byte: %s (B70)', async (_what, length) => {
    const id = `bytes-${length}`;
    await clients.publish(definition(id));
    await serve(id, { step: (task) => rawJson(task.inputText) });
    const input = `{ "n":12345678901234567890,"a":[ ], "é":"\\u00e9","text":"${'x'.repeat(length)}" }`;
    const done = await ended(await run(id, input));
    expect(done.run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
    expect(done.tasks[0]?.output).toBe(done.tasks[0]?.input);
    expect(done.tasks[0]?.input?.replaceAll(' ', '')).toBe(input.replaceAll(' ', ''));
  });

  it('a worker that is stopped gives back what does not end in time: the next attempt goes out at once (R13, B26)', async () => {
    await clients.publish(definition('given-back', { timeouts: { heartbeat: 'PT1M' } }));
    const attempts: number[] = [];
    const step = async (task: TaskContext) => {
      attempts.push(task.attempt);
      if (task.attempt > 1) return { attempt: task.attempt, progress: task.lastProgress() };
      task.heartbeat({ page: 7 });
      await sleep(120_000, undefined, { signal: task.signal });
      return null;
    };
    const first = await serve('given-back', { step });
    const runId = await run('given-back', '{}');
    await eventually(() => attempts.length === 1, { what: 'the first attempt runs' });
    await serve('given-back', { step });
    await first.stop(2_000);
    const done = await ended(runId);
    expect(done.run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
    expect(done.tasks[0]).toMatchObject({ attempt: 2, failures: 0, losses: 0 });
    expect(await kinds(runId)).toContain('task.released');
  });

  it('a cancel reaches the handler, and the undo is told that the outcome is not known (R17, R18)', async () => {
    const compensate = { task: 'undo' };
    await clients.publish(definition('cancelled', { compensate, timeouts: { heartbeat: 'PT2S' } }));
    const reasons: unknown[] = [];
    const undone: unknown[] = [];
    let isRunning = false;
    await serve('cancelled', {
      step: async (task) => {
        isRunning = true;
        try {
          await sleep(120_000, undefined, { signal: task.signal });
        } finally {
          reasons.push((task.signal.reason as { code?: string }).code);
        }
      },
      undo: (task) => void undone.push(task.input()),
    });
    const runId = await run('cancelled', '{"order":1}');
    await eventually(() => isRunning, { what: 'the step runs' });
    await clients.cancel(runId, 'cancel-1');
    const done = await ended(runId);
    expect(done.run?.status).toBe(RunStatus.RUN_STATUS_CANCELLED);
    expect(reasons).toEqual(['CANCELLED']);
    expect(undone).toEqual([{ input: { order: 1 }, output: null }]);
    expect(done.tasks.find((task) => task.kind === 'forward')?.unknownOutcome).toBe(true);
  });

  it('"try later" is no failure, however often (B27)', async () => {
    await clients.publish(definition('later', { retry: { maxAttempts: 2, initialInterval: 'PT0.05S' } }));
    await serve('later', {
      step: (task) => {
        if (task.attempt <= 4) throw retryLater(20);
        if (task.attempt === 5) throw new Error('once');
        return task.attempt;
      },
    });
    const done = await ended(await run('later', 'null'));
    expect(done.run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
    expect(done.tasks[0]).toMatchObject({ attempt: 6, failures: 1, output: '6' });
  });

  it('a handler that throws a string fails its step with the text, and the worker lives (B43)', async () => {
    await clients.publish(definition('thrown', { retry: { maxAttempts: 1 } }));
    await serve('thrown', {
      step: (task) => {
        if (task.input<number>() === 1) throw 'kaput' as unknown as Error;
        return 'fine';
      },
    });
    const failed = await ended(await run('thrown', '1'));
    expect(failed.run).toMatchObject({
      status: RunStatus.RUN_STATUS_FAILED,
      failure: { code: 'TASK_FAILED', message: 'kaput', nodeId: 'step' },
    });
    expect((await ended(await run('thrown', '2'))).run?.status).toBe(RunStatus.RUN_STATUS_SUCCEEDED);
  });

  it('a coordinator that goes away takes nothing with it: reports and leases move to the other', async () => {
    await clients.publish(definition('moved', { timeouts: { heartbeat: 'PT1M' } }));
    let release: (() => void) | undefined;
    let isRunning = false;
    const worker = await serve('moved', {
      step: () =>
        new Promise((resolve) => {
          isRunning = true;
          release = () => resolve('after the stop');
        }),
    });
    const runId = await run('moved', 'null');
    await eventually(() => isRunning, { what: 'the step runs' });
    await platform.service('coordinator-2').stop();
    await platform.service('coordinator-1').kill();
    platform.service('coordinator-2').start();
    release?.();
    await platform.service('coordinator-2').ready(60_000);
    platform.service('coordinator-1').start();
    await platform.service('coordinator-1').ready(60_000);
    const done = await ended(runId);
    expect(done.tasks[0]).toMatchObject({ attempt: 1, losses: 0, output: '"after the stop"' });
    expect(worker.health().running).toBe(0);
  });
});
