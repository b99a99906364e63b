import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDefinition, type Dag } from '@baton/core';
import { createEngine, type EngineApi } from '@baton/engine';
import { templateCompiler } from '@baton/expressions';
import { startPostgres } from '@baton/local-stack';
import { migrate } from '@baton/migrations';
import { createPostgresStore } from '@baton/storage-postgres';
import { Client } from 'pg';
import { OneTransactionPerEvent, uuidv7, type OpenTask } from './lib/one-transaction-per-event.js';
import { machine, metric, print, wantsJson } from './lib/report.js';
import { drive, median } from './lib/stats.js';

/** For each of the two ways: neither may move the other's runs, or the engine would find every cached state stale. */
const RUNS = 2_048;
const NODES = 40;
const IN_FLIGHT = 256;
const ROUND_EVENTS = 1_800;
const ROUNDS = 5;
const SINGLES = 300;
const OUTPUT = '{"ok":true,"n":12345}';
const BASELINE_CONNECTIONS = [4, 8, 16, 32];

type Side = 'engine' | 'baseline';

/**
 * Events a second of the engine's commit path against one transaction an event: the same server, the same tables, the
 * same `decide`, side by side in alternating rounds. One event = a report that finishes a task and dispatches the next.
 */
async function main(): Promise<void> {
  const asJson = wantsJson(process.argv.slice(2));
  const dir = mkdtempSync(join(tmpdir(), 'baton-bench-'));
  const postgres = await startPostgres({ dataDir: join(dir, 'postgres') });
  try {
    await migrate({ url: postgres.url, publication: false });
    const bench = await EngineBench.prepare(postgres.url);
    print(await bench.run(), asJson);
    await bench.close();
  } finally {
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

class EngineBench {
  private constructor(
    private readonly url: string,
    private readonly client: Client,
    private readonly engine: EngineApi,
    private readonly dag: Dag,
  ) {}

  static async prepare(url: string): Promise<EngineBench> {
    const spec = chain();
    const parsed = parseDefinition(spec, templateCompiler);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(
      `INSERT INTO baton.workflow_definitions (namespace, id, version, spec, content_hash) VALUES ('default', 'chain', 1, $1, 'x')`,
      [spec],
    );
    const engine = createEngine({
      store: createPostgresStore({ url }),
      templates: templateCompiler,
      schemas: { validate: () => [] },
      newId: uuidv7,
      random: Math.random,
      now: Date.now,
      hash: (text: string) => createHash('sha256').update(text).digest('hex'),
    });
    const starts = Array.from({ length: 2 * RUNS }, (_, index) => index);
    await drive(starts, IN_FLIGHT, () =>
      engine.start({ namespace: 'default', definitionId: 'chain', definitionVersion: 1, input: '{"a":1}' }),
    );
    await client.query('ANALYZE');
    return new EngineBench(url, client, engine, parsed.dag);
  }

  async run() {
    const connections = await this.bestConnections();
    const baseline = new OneTransactionPerEvent(this.url, connections, this.dag);
    const viaEngine = (task: OpenTask): Promise<unknown> => this.report(task);
    const viaBaseline = (task: OpenTask): Promise<unknown> => baseline.report(task, OUTPUT);
    await this.rate(viaEngine, 'engine', ROUND_EVENTS);
    const rates = { engine: [] as number[], baseline: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      rates.engine.push(await this.rate(viaEngine, 'engine', ROUND_EVENTS));
      rates.baseline.push(await this.rate(viaBaseline, 'baseline', ROUND_EVENTS / 2));
    }
    const singles = { engine: [] as number[], baseline: [] as number[] };
    const mine = await this.openTasks('engine', SINGLES);
    const theirs = await this.openTasks('baseline', SINGLES);
    // In turn, so that both meet the same moments of the machine.
    for (const [index, task] of mine.entries()) {
      singles.engine.push(await timed(() => viaEngine(task)));
      const other = theirs[index];
      if (other !== undefined) singles.baseline.push(await timed(() => viaBaseline(other)));
    }
    await baseline.close();
    const engineRate = median(rates.engine);
    const baselineRate = median(rates.baseline);
    const enginep50 = median(singles.engine);
    const baselinep50 = median(singles.baseline);
    return {
      bench: 'engine',
      metrics: [
        metric('events_per_second_ratio', engineRate / baselineRate, 'x', { atLeast: 5 }),
        metric('events_per_second', engineRate, '1/s'),
        metric('events_per_second_one_transaction_each', baselineRate, '1/s'),
        metric('baseline_connections', connections, ''),
        metric('p50_single_ratio', enginep50 / baselinep50, 'x', { atMost: 0.6 }),
        metric('p50_single_ms', enginep50, 'ms'),
        metric('p50_single_ms_one_transaction_each', baselinep50, 'ms'),
      ],
      rounds: ROUNDS,
      machine: machine(),
    };
  }

  async close(): Promise<void> {
    await this.engine.close();
    await this.client.end();
  }

  private async bestConnections(): Promise<number> {
    let best = { connections: 0, rate: 0 };
    for (const connections of BASELINE_CONNECTIONS) {
      const baseline = new OneTransactionPerEvent(this.url, connections, this.dag);
      const rate = await this.rate((task) => baseline.report(task, OUTPUT), 'baseline', ROUND_EVENTS / 4);
      await baseline.close();
      if (rate > best.rate) best = { connections, rate };
    }
    return best.connections;
  }

  private async rate(report: (task: OpenTask) => Promise<unknown>, side: Side, events: number): Promise<number> {
    const tasks = await this.openTasks(side, events);
    const ms = await drive(tasks, IN_FLIGHT, report);
    return (tasks.length / ms) * 1000;
  }

  private async report(task: OpenTask): Promise<void> {
    const outcome = await this.engine.report({
      namespace: 'default',
      runId: task.run_id,
      taskId: task.task_id,
      nodeId: task.node_id,
      attempt: task.attempt,
      status: 'completed',
      output: OUTPUT,
    });
    if (outcome !== 'APPLIED') throw new Error(`report of ${task.node_id} was ${outcome}`);
  }

  /** Open tasks of runs that have the least behind them, so that both ways meet runs of one size. */
  private async openTasks(side: Side, limit: number): Promise<OpenTask[]> {
    const { rows } = await this.client.query<OpenTask>(
      `SELECT t.run_id, t.task_id, t.node_id, t.attempt
       FROM baton.task_instances t JOIN baton.workflow_runs r USING (run_id)
       WHERE t.status = 'SCHEDULED' AND get_byte(decode(md5(t.run_id::text), 'hex'), 0) % 2 = $3
       ORDER BY r.version, md5(t.run_id::text || $2) LIMIT $1`,
      [limit, randomUUID(), side === 'engine' ? 0 : 1],
    );
    if (rows.length < limit) throw new Error(`only ${rows.length} of ${limit} open tasks are left`);
    return rows;
  }
}

function chain(): string {
  const nodes = Array.from({ length: NODES }, (_, index) => ({
    id: `n${index}`,
    type: 'task',
    queue: 'bench',
    ...(index === 0 ? {} : { after: [`n${index - 1}`] }),
  }));
  return JSON.stringify({ id: 'chain', version: 1, nodes });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
