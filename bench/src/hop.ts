import { credentials, Metadata } from '@grpc/grpc-js';
import { registryV1, runV1 } from '@baton/contracts';
import { Platform } from '@baton/testkit';
import { createWorker, silentLogger, type TaskContext, type Worker } from '@baton/worker';
import { commitFloorMs, produceToConsumeFloorMs } from './lib/floor.js';
import { machine, metric, print, wantsJson } from './lib/report.js';
import { median, quantile } from './lib/stats.js';

const SINGLE_RUNS = 120;
const SECONDS = 8;
const DEFINITION = JSON.stringify({
  id: 'three-steps',
  version: 1,
  nodes: [
    { id: 'one', type: 'task', queue: 'bench', task: 'step' },
    { id: 'two', type: 'task', queue: 'bench', task: 'step', after: ['one'] },
    { id: 'three', type: 'task', queue: 'bench', task: 'step', after: ['two'] },
  ],
});

/**
 * The whole hop on real processes: a report is sent, the next task is leased and in the worker's hands. In between lie
 * one commit, the write-ahead log, the relay, Kafka and the lease's own commit.
 */
async function main(): Promise<void> {
  const asJson = wantsJson(process.argv.slice(2));
  const platform = await Platform.start({ workers: 0, gateway: false, kafkaHeap: '1g', logLevel: 'warn' });
  try {
    const bench = await HopBench.prepare(platform);
    const hops = await bench.hops();
    const at32 = await bench.throughput(32);
    const at128 = await bench.throughput(128);
    const floor =
      (await commitFloorMs(platform.postgres.url)) + (await produceToConsumeFloorMs(platform.kafka.brokers));
    await bench.close();
    print(
      {
        bench: 'hop',
        metrics: [
          metric('p50_ms', median(hops), 'ms', { atMost: 6 }),
          metric('p99_ms', quantile(hops, 0.99), 'ms'),
          metric('p50_vs_floor_ratio', median(hops) / floor, 'x', { atMost: 4 }),
          metric('floor_ms', floor, 'ms'),
          metric('runs_per_second_32', at32, '1/s'),
          metric('runs_per_second_128', at128, '1/s'),
        ],
        rounds: SINGLE_RUNS,
        machine: machine(),
      },
      asJson,
    );
  } finally {
    await platform.stop();
  }
}

class HopBench {
  private readonly hopSamples: number[] = [];
  private readonly lastReturn = new Map<string, number>();
  private readonly waiting = new Map<string, () => void>();

  private constructor(
    private readonly runs: runV1.RunServiceClient,
    private readonly worker: Worker,
  ) {}

  static async prepare(platform: Platform): Promise<HopBench> {
    const registry = new registryV1.RegistryServiceClient(platform.registryUrl, credentials.createInsecure());
    await new Promise<void>((resolve, reject) =>
      registry.publishDefinition({ spec: DEFINITION, noDeploy: false }, new Metadata(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
    registry.close();
    const runs = new runV1.RunServiceClient(platform.coordinatorUrls[0] ?? '', credentials.createInsecure());
    const handlers: { step?: (task: TaskContext) => unknown } = {};
    const worker = createWorker({
      brokers: platform.kafka.brokers.split(','),
      coordinators: platform.coordinatorUrls,
      queues: ['bench'],
      handlers: { step: (task) => handlers.step?.(task) },
      concurrency: 256,
      logger: silentLogger,
    });
    const bench = new HopBench(runs, worker);
    handlers.step = (task) => bench.step(task);
    await worker.start();
    // Code of four processes and a JVM is compiled while it runs: without load first, the samples time the compilers.
    await bench.throughput(32);
    bench.hopSamples.length = 0;
    return bench;
  }

  async hops(): Promise<readonly number[]> {
    for (let run = 0; run < SINGLE_RUNS; run += 1) await this.oneRun();
    return [...this.hopSamples];
  }

  /** Three-step runs a second with so many in flight, over some seconds. */
  async throughput(inFlight: number): Promise<number> {
    const until = performance.now() + SECONDS * 1000;
    const startedAt = performance.now();
    let finished = 0;
    const lane = async (): Promise<void> => {
      while (performance.now() < until) {
        await this.oneRun();
        finished += 1;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, lane));
    return (finished / (performance.now() - startedAt)) * 1000;
  }

  async close(): Promise<void> {
    await this.worker.stop();
    this.runs.close();
  }

  /** Resolves when the worker has the run's last step in its hands. */
  private async oneRun(): Promise<void> {
    const runId = await this.start();
    await new Promise<void>((resolve) => {
      if (this.waiting.has(runId)) resolve();
      else this.waiting.set(runId, resolve);
    });
    this.waiting.delete(runId);
  }

  private start(): Promise<string> {
    const request = runV1.StartRunRequest.fromPartial({
      definitionId: 'three-steps',
      definitionVersion: 1,
      input: '{}',
    });
    return new Promise((resolve, reject) =>
      this.runs.startRun(request, new Metadata(), (error, answer) =>
        error === null ? resolve(answer.runId) : reject(error),
      ),
    );
  }

  private step(task: TaskContext): null {
    const now = performance.now();
    const before = this.lastReturn.get(task.runId);
    if (before !== undefined) this.hopSamples.push(now - before);
    if (task.nodeId === 'three') {
      this.lastReturn.delete(task.runId);
      const waiter = this.waiting.get(task.runId);
      // The last step can be faster than the answer to the start: then the starter finds this mark.
      if (waiter === undefined) this.waiting.set(task.runId, () => undefined);
      else waiter();
    } else {
      this.lastReturn.set(task.runId, performance.now());
    }
    return null;
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
