import { createBusConsumer, createLaneProducer, partitionFor, taskTopic, type ConsumedMessage } from '@baton/bus-kafka';
import { eventually, kafkaBrokers } from '@baton/testkit';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { silentLogger } from './logger.js';
import { createWorker, type Worker } from './worker.js';

/** An address where nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('a worker on a real broker', () => {
  let brokers: string[];
  const workers: Worker[] = [];

  beforeAll(async () => {
    brokers = (await kafkaBrokers()).split(',');
  });

  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop(2_000)));
  });

  async function workerOf(namespace: string, queue: string, hooks = {}): Promise<Worker> {
    const worker = createWorker({
      brokers,
      coordinators: [`127.0.0.1:${await closedPort()}`],
      namespace,
      queues: [queue],
      handlers: {},
      logger: silentLogger,
      hooks,
    });
    workers.push(worker);
    return worker;
  }

  async function send(topic: string, values: (Buffer | null)[], type = 'task.dispatched'): Promise<void> {
    const producer = createLaneProducer({ brokers, clientId: 'test' });
    // A topic that was made a moment ago may not be hosted yet.
    const { partitions } = await eventually(
      () => producer.ensureTopic(topic, { partitions: 1, replicationFactor: 1 }).catch(() => undefined),
      { what: 'the topic' },
    );
    const messages = values.map((value) => ({ key: 'run', value, headers: { type, id: randomUUID() } }));
    await producer.sendLane(topic, partitionFor('run', partitions), messages);
    await producer.close();
  }

  async function readAll(topic: string, count: number): Promise<ConsumedMessage[]> {
    const found: ConsumedMessage[] = [];
    const consumer = createBusConsumer({
      brokers,
      clientId: 'test',
      groupId: `test-${randomUUID()}`,
      topics: [topic],
      onBatch: async (batch) => {
        found.push(...batch.messages);
        for (const message of batch.messages) batch.done(message.offset);
        await Promise.resolve();
      },
    });
    await consumer.start();
    await eventually(() => found.length >= count, { what: `${count} messages in ${topic}` });
    await consumer.stop();
    return found;
  }

  it('can be stopped before it has started', async () => {
    const worker = await workerOf(`w${randomUUID().slice(0, 8)}`, 'q');
    const starting = worker.start();
    const refused = expect(starting).rejects.toThrow(/stopped/);
    await worker.stop(2_000);
    await refused;
    await expect(worker.start()).rejects.toThrow(/stopping/);
  });

  it('keeps what it cannot read as dead letters, once each and whole, and moves on (B106)', async () => {
    const namespace = `w${randomUUID().slice(0, 8)}`;
    const topic = taskTopic(namespace, 'q');
    await send(topic, [Buffer.from('not json'), null, Buffer.alloc(0), Buffer.from('['.repeat(5_000))]);
    const buried: string[] = [];
    const worker = await workerOf(namespace, 'q', { deadLettered: (from: string) => buried.push(from) });
    await worker.start();
    const dead = await readAll(`baton.${namespace}.dead`, 4);
    expect(dead.map((message) => message.headers['dead-offset']).sort()).toEqual(['0', '1', '2', '3']);
    expect(dead.map((message) => message.headers['dead-topic'])).toEqual([topic, topic, topic, topic]);
    expect(dead.every((message) => (message.headers['dead-reason'] ?? '') !== '')).toBe(true);
    expect(dead.map((message) => message.value?.toString()).filter((text) => text === 'not json')).toHaveLength(1);
    expect(buried).toHaveLength(4);
    // Its offsets are committed: the next worker of the group starts behind them.
    await worker.stop(5_000);
    const next = await workerOf(namespace, 'q', { deadLettered: (from: string) => buried.push(from) });
    await next.start();
    await send(topic, [Buffer.from('later')], 'task.imagined');
    await eventually(() => buried.length > 4, { what: 'the message after the stop' });
    expect(buried).toHaveLength(5);
  });

  it('keeps its messages while no coordinator is there, and stops in time (B106)', async () => {
    const namespace = `w${randomUUID().slice(0, 8)}`;
    const fields = {
      ...{
        runId: randomUUID(),
        taskId: randomUUID(),
        nodeId: 'n',
        item: 0,
        kind: 'forward',
        generation: 1,
        attempt: 1,
      },
      ...{ queue: 'q', handler: 'h', definitionId: 'd', definitionVersion: 1, idempotencyKey: 'k', inputBytes: 2 },
    };
    const value = Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"input":{}}`);
    await send(taskTopic(namespace, 'q'), [value, value]);
    const worker = await workerOf(namespace, 'q');
    await worker.start();
    expect(worker.health()).toMatchObject({ joined: true, connected: false, running: 0 });
    await eventually(() => worker.health().acquiring === 2, { what: 'two acquires that nobody answers' });
    const startedAt = performance.now();
    await worker.stop(2_000);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });
});
